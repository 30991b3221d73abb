"""Paths of one file in several spellings, as a Delta log may have them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.delta.live import Unmatched
from tests.sdk.delta_logs import Action, add, begin, info, remove, schema, write_log, write_version

NAME = "t"
Spelling = Callable[[Path], str]
SPELLINGS: list[Spelling] = [
    lambda _: "p=a b/é.parquet",
    lambda _: "p=a%20b/%C3%A9.parquet",
    lambda _: "p=a%20b/%c3%a9.parquet",
    lambda _: "./p=a%20b//é.parquet",
    lambda table: f"{table}/p=a b/é.parquet",
    lambda table: f"file:{table}/p=a%20b/./é.parquet",
    lambda table: f"file://{table}/p=a%20b/é.parquet",
]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("removed", SPELLINGS)
@pytest.mark.parametrize("added", SPELLINGS)
def test_a_removal_finds_its_file_under_any_spelling_in_the_same_import_and_in_a_later_one(
    ledger: Ledger, tmp_path: Path, added: Spelling, removed: Spelling, *, at_once: bool
) -> None:
    table = tmp_path.resolve()
    write_log(table, begin(), [info(), add(added(table)), add("other")])
    if not at_once:
        import_delta(ledger, table, NAME)
        assert added(table) in ledger.read(NAME).paths
    write_version(table, 2, [info("DELETE", blind=False), remove(removed(table))])

    report = import_delta(ledger, table, NAME)

    assert ledger.read(NAME).paths == ["other"]
    assert report.unmatched == ()


def test_a_removal_that_finds_no_live_file_is_told(ledger: Ledger, tmp_path: Path) -> None:
    write_log(tmp_path, begin(), [info(), add("a")], [info("DELETE"), remove("a"), remove("b")])
    write_version(tmp_path, 3, [info("DELETE"), remove("a%2520b")])

    report = import_delta(ledger, tmp_path, NAME)

    assert report.unmatched == (Unmatched(2, "b"), Unmatched(3, "a%2520b"))
    assert ledger.read(NAME).paths == []


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([info(), add("./x%20y")], ["x y"]),
        ([info(), add("z"), add("./z")], ["x y", "z"]),
        ([info("WRITE", blind=False), remove("x%20y"), add("x%20y//")], ["x%20y//"]),
        ([info("DELETE", blind=False), remove("x%20y"), remove("./x y")], []),
    ],
)
def test_a_file_is_live_once_also_where_its_log_names_it_in_two_ways(
    ledger: Ledger, tmp_path: Path, actions: list[Action], expected: list[str]
) -> None:
    write_log(tmp_path, begin(), [info(), add("x y")], actions)

    import_delta(ledger, tmp_path, NAME)

    assert ledger.read(NAME).paths == expected


def test_a_file_with_another_vector_is_another_file(ledger: Ledger, tmp_path: Path) -> None:
    first = {"storageType": "u", "pathOrInlineDv": "ab", "offset": 1, "sizeInBytes": 3}
    second = {**first, "offset": 2}
    write_log(
        tmp_path,
        begin(),
        [info(), add("a b")],
        [info("DELETE", blind=False), remove("a%20b"), add("a%20b", deletionVector=first)],
        [
            info("DELETE", blind=False),
            remove("./a%20b", deletionVector=first),
            add("a b", deletionVector=second),
        ],
    )

    report = import_delta(ledger, tmp_path, NAME)

    assert [(each.path, each.vector) for each in ledger.read(NAME)] == [("a b", "uab@2")]
    assert report.unmatched == ()


TYPED: list[tuple[tuple[str, list[str | None]], str, list[int]]] = [
    (("integer", ["1", "01", "2", None, ""]), "p = 1", [0, 1]),
    (("date", ["2024-01-02", "2024-1-2", "2024-01-03"]), "p = DATE '2024-01-02'", [0, 1]),
    (("string", ["1", "01", "New York"]), "p = '1'", [0]),
    (("boolean", ["true", "TRUE", "false"]), "p = true", [0, 1]),
    (("decimal(5,2)", ["1.50", "1.5", "2"]), "p = 1.5", [0, 1]),
    (("integer", ["1", None]), "p IS NULL", [1]),
]


@pytest.mark.parametrize(("typed", "where", "found"), TYPED)
def test_partition_values_of_a_log_keep_their_text_and_mean_what_their_type_says(
    ledger: Ledger,
    tmp_path: Path,
    typed: tuple[str, list[str | None]],
    where: str,
    found: list[int],
) -> None:
    kind, values = typed
    said = begin(text=schema(("p", kind), ("id", "long")), partitioned=["p"])
    adds = [add(f"f{at}", partitionValues={"p": value}) for at, value in enumerate(values)]
    write_log(tmp_path, said, [info(), *adds])

    import_delta(ledger, tmp_path, NAME)

    assert [each.partition for each in ledger.read(NAME)] == [(value or None,) for value in values]
    assert ledger.read(NAME, where).paths == [f"f{at}" for at in found]


def test_a_value_that_its_type_cannot_hold(ledger: Ledger, tmp_path: Path) -> None:
    """A file of a wrong value is imported as readers list it, and hides no other partition."""
    said = begin(text=schema(("p", "integer"), ("id", "long")), partitioned=["p"])
    wrong, right = (add(name, partitionValues={"p": name}) for name in ("march", "3"))
    write_log(tmp_path, said, [info(), wrong, right])

    import_delta(ledger, tmp_path, NAME)

    assert ledger.read(NAME).paths == ["3", "march"]
    assert "3" in ledger.read(NAME, "p = 3").paths
