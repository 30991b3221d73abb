"""Pages for a browser: every page and link answers, names stay text, and nothing is from afar."""

import re
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin, urlsplit

import pytest
import urllib3

from ledger.reads.amounts import shown_size
from projections.web.pages.menu import PAGES
from projections.web.pages.rendering import environment
from tests.core.parts import table_of
from tests.projections.followed import Followed
from tests.web.lake import HOSTILE, HOSTILE_PATH, Lake, file_of, write
from tests.web.served import Served, rows_in, serving

LOADS: Final = {"script": "src", "link": "href", "img": "src", "form": "action"}
PAGES_MAX: Final = 400


class Seen(HTMLParser):
    """What a page has: its tags, its links, what it loads, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "wbr":
            self.said.append(" ")

    def handle_endtag(self, _tag: str) -> None:
        self.said.append(" ")

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def links(self) -> set[str]:
        return {each["href"] or "" for tag, each in self.tags if tag == "a" and "href" in each}

    @property
    def text(self) -> str:
        return " ".join("".join(self.said).split())


def page(served: Served, path: str, status: int = 200) -> Seen:
    found = served.ask(path)
    assert found.status == status, (path, found.data.decode()[:3000])
    return Seen(found.data.decode())


@pytest.fixture(scope="module")
def crawled(served: Served) -> dict[str, Seen]:
    """Return every page that links lead to, by its address, from the overview on."""
    found: dict[str, Seen] = {}
    left = ["/ui"]
    while left and len(found) < PAGES_MAX:
        path = left.pop(0)
        if path in found:
            continue
        found[path] = page(served, path)
        targets = {urljoin(path, link) for link in found[path].links if not link.startswith("#")}
        left += sorted(target for target in targets if target not in found)
    return found


def test_the_address_without_a_path_leads_to_the_pages(served: Served) -> None:
    found, headers = served.ask_with("/", {})
    assert (found.status, headers["Location"]) == (307, "/ui")


def test_links_lead_to_every_page_and_each_answers(crawled: dict[str, Seen]) -> None:
    assert len(crawled) == PAGES_MAX or len(crawled) > 100
    names = {urlsplit(each).path.removeprefix("/ui").strip("/") for each in crawled}
    # A form leads to the search.
    assert names >= {page.path for page in PAGES} - {"search"}


def test_nothing_is_from_elsewhere(crawled: dict[str, Seen], served: Served) -> None:
    loaded = set()
    for seen in crawled.values():
        for tag, attributes in seen.tags:
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
            assert tag != "style"
            if tag in LOADS:
                loaded.add(attributes[LOADS[tag]])
    assert all(each is not None and each.startswith("/ui") for each in loaded)
    for each in loaded:
        path = urlsplit(each or "").path
        assert served.ask(path).status in {200, 400}


def test_a_name_of_the_log_is_never_a_tag(crawled: dict[str, Seen]) -> None:
    for address, seen in crawled.items():
        is_page = urlsplit(address).path.startswith("/ui")  # Pages link to documents in JSON too.
        assert not [tag for tag, _ in seen.tags if tag in {"img", "b", "iframe"}]
        assert sum(tag == "script" for tag, _ in seen.tags) == int(is_page)
    every = " ".join(seen.text for seen in crawled.values())
    for name in (HOSTILE, HOSTILE_PATH, "orders<b>&'\""):
        assert name in every


def test_a_browser_is_told_to_run_and_load_nothing_else(served: Served) -> None:
    found = urllib3.request("GET", f"{served.url}/ui")
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert found.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", [each.path for each in PAGES])
def test_every_page_answers_at_every_position(path: str, lake: Lake, served: Served) -> None:
    subject = {
        "txn": "txn=1",
        "conflict": f"position={lake.lost[0]}",
        **dict.fromkeys(
            ("table", "history", "schema", "partitions", "files", "lineage", "rows"),
            f"table={lake.flights}",
        ),
    }.get(path, "")
    newest = lake.head.position
    if next(each.is_timeless for each in PAGES if each.path == path):
        subject = f"&session={lake.ada}" if path == "session" else ""
        assert 'type="range"' not in served.ask(f"/ui/{path}?at=3{subject}").data.decode()
        return
    for at in range(newest + 1):
        seen = page(served, f"/ui/{path}?{subject}&at={at}")
        said = re.search(r"As of position (\d+)", seen.text)
        assert said is not None
        assert int(said[1]) == at


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ui/none", 404),
        ("/ui/txn?txn=999", 404),
        ("/ui/table?table=999", 404),
        ("/ui/conflict?txn=999", 404),
        ("/ui/conflict?position=1", 404),
        ("/ui/conflict", 400),
        ("/ui/txn", 400),
        ("/ui/txn?txn=x", 400),
        ("/ui?at=999999", 409),
        ("/ui?at=-1", 400),
        ("/ui?at=1&at=2", 400),
        ("/ui?what=1", 400),
        ("/ui/diff?first=7&at=3", 200),
        ("/ui/diff?first=999999", 400),
        ("/ui/schema?table=1&first=7&at=3", 200),
        ("/ui/tables?sort=size", 400),
        ("/ui/session?session=999999", 404),
        ("/ui/lineage?table=999", 404),
        ("/ui/activity?span=0", 400),
    ],
)
def test_errors_are_pages(served: Served, path: str, status: int) -> None:
    """What cannot be shown is a page that says why."""
    assert "LakeLedger" in page(served, path, status).text


def test_three_clicks(lake: Lake, served: Served) -> None:
    """From the overview a link leads to winner, file and what-if of each conflict."""
    first, second, third = lake.lost
    overview = page(served, "/ui")
    targets = {link for link in overview.links if link.startswith("/ui/conflict?")}
    assert targets == {f"/ui/conflict?position={each}" for each in lake.lost}
    text = page(served, f"/ui/conflict?position={first}").text
    assert "day=1/1.parquet" in text
    assert "WriteSerializable would not have let it pass" in text
    text = page(served, f"/ui/conflict?position={second}").text
    assert "WriteSerializable would have let it pass" in text
    assert HOSTILE_PATH in page(served, f"/ui/conflict?position={third}").text


def test_a_txn_leads_to_its_conflict(lake: Lake, served: Served) -> None:
    row = lake.reads.conflicts(lake.lost[0] - 1, 1)[0]
    seen = page(served, f"/ui/txn?txn={row.txn}")
    assert f"/ui/conflict?txn={row.txn}" in seen.links
    assert "would not have" in page(served, f"/ui/conflict?txn={row.txn}").text
    before = page(served, f"/ui/txn?txn={row.txn}&at={row.position - 1}")
    assert "open" in before.text
    assert not [link for link in before.links if "/ui/conflict?" in link]


def test_the_past(lake: Lake, served: Served) -> None:
    """A page of the past shows what was there then: tables, versions, open txns, watermark."""
    reads = lake.reads
    gone = reads.table(lake.gone)
    assert gone is not None
    assert "lake.gone" in page(served, f"/ui/tables?at={gone.dropped - 1}").text
    assert "lake.gone" not in page(served, f"/ui/tables?at={gone.dropped}").text
    assert "bigint" not in page(served, f"/ui/table?table={lake.flights}&at={lake.lost[0]}").text
    assert "bigint" in page(served, f"/ui/table?table={lake.flights}").text
    for at in range(1, lake.head.position):
        event = reads.history(at - 1, 1)[0]
        text = page(served, f"/ui/watermark?at={at}").text
        assert f"The watermark is txn {event.watermark};" in text
        files = {file.path for file in reads.files(lake.flights, position=at)}
        if files:
            shown = page(served, f"/ui/files?table={lake.flights}&at={at}").text
            assert set(re.findall(r"day=\d/\d+\.parquet", shown)) == files


def test_the_page_of_processes_asks_the_others(lake: Lake, served: Served) -> None:
    away = "http://127.0.0.1:9"
    with serving(rows_in(lake), processes=(served.url, away)) as asking:
        text = page(asking, "/ui/processes").text
    assert f"Follower, {served.url} " in text
    assert f"store: open, at position {lake.head.position}" in text.partition(served.url)[2]
    assert "no answer" in text.partition(away)[2]


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{ 1|amount('older txn') }}", "1 older txn"),
        ("{{ 3708|amount('table') }}", "3,708 tables"),
        (
            "{% from 'macros.html' import prose %}{{ prose('rows `as of` <b>') }}",
            "rows <code>as of</code> &lt;b&gt;",
        ),
    ],
)
def test_numbers_agree_with_their_nouns(template: str, shown: str) -> None:
    assert environment().from_string(template).render() == shown


def test_a_page_has_no_mark_of_code(crawled: dict[str, Seen]) -> None:
    for path, seen in crawled.items():
        if urlsplit(path).path.startswith("/ui"):
            assert "`" not in seen.text
            assert not re.search(r"(position|txn) \d+,\d{3}", seen.text)


def first_cells(seen: Seen, name: str) -> list[str]:
    """Return the names of tables in the order of a page."""
    return re.findall(rf"{name}\.\w+", seen.text)


def test_tables_are_sorted_by_what_is_asked_and_found_by_a_pattern(
    lake: Lake, served: Served
) -> None:
    by_size = page(served, "/ui/tables?sort=bytes")
    assert first_cells(by_size, "lake")[:2] == ["lake.flights", "lake.delays"]
    assert first_cells(page(served, "/ui/tables?sort=name"), "lake")[0] == "lake.delays"
    few = page(served, "/ui/tables?like=fl*|nothing")
    assert first_cells(few, "lake") == ["lake.flights"]
    files = lake.reads.files(lake.flights)
    size = sum(file.size for file in files)
    assert f"lake.flights 1 {7 * len(files)} {len(files)} {size / 1024:.1f} KiB" in few.text


def test_the_search_finds_names_and_numbers(lake: Lake, served: Served) -> None:
    assert "lake.flights" in page(served, "/ui/search?q=FLIGH").text
    numbered = page(served, "/ui/search?q=4")
    assert {"/ui/txn?txn=4", "/ui/timeline?at=4", "/ui/table?table=4"} <= numbered.links
    only = page(served, f"/ui/search?q=session+{lake.ada}")
    assert f"/ui/session?session={lake.ada}" in only.links
    assert not [link for link in only.links if "/ui/txn" in link]


def test_lineage_leads_both_ways(lake: Lake, served: Served) -> None:
    made = page(served, f"/ui/lineage?table={lake.delays}")
    assert {f"/ui/table?table={lake.flights}", f"/ui/table?table={lake.hostile}"} <= made.links
    used = page(served, f"/ui/lineage?table={lake.flights}")
    assert f"/ui/table?table={lake.delays}" in used.links
    (read,) = lake.reads.table_reads(lake.flights, 9)
    before = page(served, f"/ui/lineage?table={lake.flights}&at={read.position - 1}")
    assert "No txn read this table" in before.text
    assert "It only read lake.flights" in page(served, f"/ui/txn?txn={read.txn}").text


def test_activity_counts_what_the_events_hold(lake: Lake, served: Served) -> None:
    text = served.ask("/ui/activity").data.decode()
    charts = {
        name: re.findall(r"<title>(.*?)</title>", drawn)
        for name, drawn in re.findall(
            r'aria-label="([\w ]+) over time">(.*?)</svg>', text, re.DOTALL
        )
    }
    types = [event.type for event in lake.reads.history(0, 999)]
    size = sum(row.live_size for row in lake.reads.newest_versions())
    assert sum(map(int, charts["Commits"])) == types.count("TxnCommitted")
    assert sum(map(int, charts["Lost conflicts"])) == len(lake.lost)
    assert charts["Bytes of live files"][-1] == shown_size(size)


def test_conflicts_are_summed_up_by_table_and_by_statements(lake: Lake, served: Served) -> None:
    seen = page(served, "/ui/conflicts")
    assert "DELETE lost to DELETE: 2 times" in seen.text
    assert "UPDATE lost to WRITE: 1 time" in seen.text
    assert "lost to" not in page(served, f"/ui/conflicts?at={lake.lost[0] - 1}").text


def test_partitions_of_numbers_are_in_the_order_of_numbers() -> None:
    domain = Followed()
    session = domain.open_session()
    made = table_of(("hour", "int"), by=["hour"])
    table = domain.create_table(session, "flights", made=made)
    files = [file_of(f"hour={hour}/a.parquet", hour) for hour in ("10", "2", "1")]
    domain.commit(session, 0, write(table, files))
    domain.follow()
    with serving(rows_in(domain)) as served:
        text = served.ask(f"/ui/partitions?table={table}").data.decode()
    assert re.findall(r"<td>(\d+)</td>\s*<td><svg", text) == ["1", "2", "10"]
