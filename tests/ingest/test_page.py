"""The page of ingests: how far each partition is, and what was lost."""

import pytest

from projections.web.answers.asked import Asked
from projections.web.pages.menu import PAGES, answered
from projections.web.pages.page import ROWS, Beside
from tests.ingest.benches import IngestBench
from tests.ingest.test_ingest import EVENTS, FIRST, made, put


def lines(bench: IngestBench, **query: str) -> tuple[str, list[str]]:
    """Return the page without its tags, and the lines of its table."""
    page = next(each for each in PAGES if each.path == "ingests")
    answer = answered(page, bench.memory.reads, Asked({}, query.items()), Beside())
    text = bytes(answer.body).decode()
    return text, text.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]


def cells(line: str) -> list[str]:
    return [cell.partition(">")[2].partition("</td>")[0] for cell in line.split("<td")[1:]]


def test_the_page_has_offset_lag_and_lost_records_of_each_partition(bench: IngestBench) -> None:
    made(bench)
    goes_on = {**EVENTS, "lost": "continue"}
    ingest, _ = bench.process(goes_on)
    put(bench, 1)
    bench.drain(ingest)
    put(bench, 2, 3, 4)
    bench.topics.remove_below(FIRST, 3)
    again, _ = bench.process(goes_on)
    again.gather()
    put(bench, 5, 6)
    receipt = again.commit()

    text, (line,) = lines(bench)

    assert receipt is not None
    assert cells(line)[1:7] == ["events", "0", "4", "2", "2", str(receipt.position)]
    assert "2 records were deleted unread" in text


@pytest.mark.parametrize(("skip", "shown"), [("0", ROWS), (str(ROWS), 10)])
def test_many_partitions_are_on_several_pages(bench: IngestBench, skip: str, shown: int) -> None:
    made(bench, partitions=ROWS + 10)
    ingest, _ = bench.process(EVENTS)
    bench.drain(ingest)

    text, found = lines(bench, skip=skip)

    assert len(found) == shown
    assert f"{ROWS + 10} partitions" in text


def test_a_ledger_without_an_ingest_says_so(bench: IngestBench) -> None:
    assert "No ingest has committed" in lines(bench)[0]
