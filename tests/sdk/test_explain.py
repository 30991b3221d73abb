"""A lost conflict is explained: to people in a few lines, to programs as a dictionary."""

import json
import pickle
from contextlib import closing
from typing import Any

import pytest

from ledger.client import Ledger
from ledger.core.commands import CoarseWrite, Footprint, TableWrite
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, packed, path_hash
from ledger.core.decide import evidence
from ledger.core.events.parts import Evidence, Side
from ledger.errors import ConflictError, SettingsError
from ledger.log.wire.file_list import AddFile
from ledger.reads.port import Reads
from ledger.session.explain import RULES, Explanation, name_conflict
from ledger.testing import InMemoryLedger, open_channel
from tests.sdk.flights import TABLE, create_flights, of_day

EVIDENCE = Evidence(
    rule="coarse_write_write",
    exception="ConcurrentDeleteDelete",
    table=3,
    unit="partition day=1",
    operation="delete",
    read_at=40,
    winner=Side(5, 43, "update", "ada@lake etl", 1_767_225_600_123),
    remedy="read the unit again and retry in a new txn",
)


def lines(**fields: Any) -> list[str]:
    """Return the account of a conflict, with some things of it otherwise."""
    return str(Explanation(EVIDENCE._replace(**fields), 7, 44)).splitlines()


def test_lines() -> None:
    """There is a line each for who, over what, by which scan, whence, why and what helps."""
    found = lines(level="Serializable", predicate='["=",["col","day"],["lit","1","int"]]')

    assert found == [
        "ConcurrentDeleteDelete: txn 7 lost",
        "  to      txn 5: update by ada@lake etl at position 43, 2026-01-01T00:00:00.123Z",
        "  over    table 3, partition day=1",
        "  scan    day = 1",
        "  with    delete planned at position 40, judged as Serializable",
        "  by rule coarse_write_write: both change or delete rows of the same unit",
        "  helps   read the unit again and retry in a new txn",
    ]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"winner": Side(0, 0, "drop", "")}, "  to      a change outside a txn: drop"),
        ({"predicate": '["lit","true","boolean"]'}, "  scan    the whole table"),
        ({"predicate": "nothing known"}, "  scan    nothing known"),
        ({"unit": "file 00ff00ff00ff00ff"}, "  over    table 3, file 00ff00ff00ff00ff"),
        ({"unit": "unpartitioned"}, "  over    table 3, the rows"),
        ({"unit": "table"}, "  over    table 3, the whole"),
        ({"operation": ""}, "  with    a commit planned at position 40"),
        ({"rule": "from_tomorrow"}, "  by rule from_tomorrow"),
    ],
)
def test_what_is_not_known_is_left_out_or_stands_as_it_is(fields: Any, line: str) -> None:
    assert line in lines(**fields)


@pytest.mark.parametrize(
    ("unit", "columns", "paths", "wanted", "text"),
    [
        ("table", (), (), {"kind": "table"}, "the whole"),
        ("metadata", (), (), {"kind": "metadata"}, "metadata"),
        ("app etl", (), (), {"kind": "app", "name": "etl"}, "app etl"),
        (
            'partition ["1",null]',
            ("day", "hour"),
            (),
            {"kind": "partition", "name": '["1",null]', "values": {"day": "1", "hour": None}},
            "partition day=1, hour=NULL",
        ),
        ('partition ["1"]', (), (), {"kind": "partition", "name": '["1"]'}, 'partition ["1"]'),
        (
            "file 00ff",
            (),
            ("a", "b"),
            {"kind": "file", "name": "00ff", "paths": ["a", "b"]},
            "file a or b",
        ),
        (
            "rows 7, 90 of file 00ff",
            (),
            ("a",),
            {"kind": "rows", "name": "00ff", "rows": [7, 90], "more": 0, "paths": ["a"]},
            "rows 7, 90 of file a",
        ),
        (
            "rows 7 and 12 more of file 00ff",
            (),
            (),
            {"kind": "rows", "name": "00ff", "rows": [7], "more": 12, "paths": []},
            "rows 7 and 12 more of file 00ff",
        ),
    ],
)
def test_units(unit: str, columns: Any, paths: Any, wanted: Any, text: str) -> None:
    """What both met in is told by its kind, with names where they are known."""
    found = Explanation(
        EVIDENCE._replace(unit=unit), 7, 44, "main.flights", columns=columns, paths=paths
    )

    assert wanted == found.as_dict()["unit"]
    assert f"  over    table 3 main.flights, {text}" in str(found).splitlines()


def test_the_form_for_programs_names_every_side_and_is_json() -> None:
    found = Explanation(EVIDENCE, 7, 44, "main.flights")
    error = ConflictError("lost", reason="ConcurrentDeleteDelete", explanation=found)

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - what this test made itself

    assert json.loads(json.dumps(copy.as_dict())) == {
        "exception": "ConcurrentDeleteDelete",
        "message": "lost",
        "rule": "coarse_write_write",
        "because": "both change or delete rows of the same unit",
        "level": "",
        "loser": {"txn": 7, "operation": "delete", "read_at": 40, "position": 44},
        "winner": {
            "txn": 5,
            "operation": "update",
            "author": "ada@lake etl",
            "position": 43,
            "at": "2026-01-01T00:00:00.123Z",
        },
        "table": {"id": 3, "name": "main.flights"},
        "unit": {"kind": "partition", "name": "day=1"},
        "predicate": {"tree": "", "sql": ""},
        "remedy": "read the unit again and retry in a new txn",
    }


def test_every_rule_by_which_a_commit_can_lose_is_put_into_words() -> None:
    assert set(evidence.RULES) == set(RULES)


def test_a_lost_delete_is_told_all_about_the_winner(ledger: Ledger, memory: InMemoryLedger) -> None:
    create_flights(ledger, "Serializable")
    txn = ledger.begin()
    txn.remove_files(TABLE, txn.read(TABLE, "day = 1 AND tail = 'N14228'"))
    with memory.connect(application="loader").transaction() as winner:
        winner.add_files(TABLE, [of_day(1, "late")])

    with pytest.raises(ConflictError) as raised:
        txn.commit()

    found = raised.value.explain()
    assert f"to      txn {winner.id}: WRITE by" in found
    assert " loader at position " in found
    assert "table 1 main.flights, partition day=1" in found
    assert "scan    (day = 1) AND (tail = 'N14228')" in found
    assert f"DELETE planned at position {txn.opened}, judged as Serializable" in found


def test_a_file_that_both_removed_is_told_by_path(ledger: Ledger, memory: InMemoryLedger) -> None:
    create_flights(ledger)
    txn = ledger.begin()
    txn.remove_files(TABLE, ["day1"])
    with memory.connect().transaction() as winner:
        winner.remove_files(TABLE, ["day1"])

    with pytest.raises(ConflictError) as raised:
        txn.commit()

    assert "table 1 main.flights, file day1" in raised.value.explain()
    assert raised.value.as_dict()["unit"] == {
        "kind": "file",
        "name": path_hash("day1").hex(),
        "paths": ["day1"],
    }


def test_a_commit_that_declared_hashes_alone_is_told_the_path_all_the_same(ledger: Ledger) -> None:
    table = create_flights(ledger).table
    planned = ledger.read(TABLE)
    with ledger.transaction() as winner:
        winner.remove_files(TABLE, ["day1"])
    footprint: Footprint = EMPTY_FOOTPRINT._replace(operation="DELETE", removes=packed(["day1"]))

    with pytest.raises(ConflictError, match="the commit was aborted") as raised:
        ledger.commit_once([TableWrite(table, planned.position, (), footprint)])

    assert "file day1" in raised.value.explain()


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("table", "the whole of table 3"),
        ("unpartitioned", "the rows of table 3"),
        ("partition day=1", "partition day=1 of table 3"),
        ("metadata", "metadata of table 3"),
    ],
)
def test_the_message_is_a_sentence_whatever_both_met_in(unit: str, text: str) -> None:
    said = Explanation(EVIDENCE._replace(unit=unit), 7, 44).summary

    assert f"txn 5 (update) came first, to {text}. To go on, read the unit again" in said


def test_without_a_read_model_the_account_has_numbers_and_what_the_loser_knows() -> None:
    evidence = EVIDENCE._replace(unit=f"file {path_hash('day1').hex()}")
    error = ConflictError("lost", reason="x", explanation=Explanation(evidence, 7, 44))

    name_conflict(error, no_reads, lambda _table, _hash: ["day1"])

    assert "  over    table 3, file day1" in error.explain().splitlines()
    assert "came first, to file day1 of table 3. To go on, " in str(error)


def no_reads() -> Reads:
    raise SettingsError("no store")


def test_names_of_another_ledgers_rows_are_not_used(memory: InMemoryLedger, ledger: Ledger) -> None:
    table = create_flights(ledger).table
    planned = ledger.read(TABLE).position
    with ledger.transaction() as winner:
        winner.remove_files(TABLE, ["day1"])
    update = TableWrite(table, planned, (CoarseWrite("table", "", "update"),))

    with (
        InMemoryLedger() as another,
        closing(
            Ledger(memory.log, open_reads=lambda: another.reads, open_channel=open_channel)
        ) as misled,
    ):
        another.connect().create_table("secret")
        with pytest.raises(ConflictError) as raised:
            misled.commit_once([update])

    assert "secret" not in raised.value.explain()


def test_a_conflict_without_evidence_says_what_its_message_says(ledger: Ledger) -> None:
    error = ConflictError("changed meanwhile", reason="MetadataChanged")
    name_conflict(error, ledger.reads, lambda _table, _hash: ())

    assert (error.explain(), error.as_dict()) == (
        "changed meanwhile",
        {"exception": "MetadataChanged", "message": "changed meanwhile"},
    )


def test_an_append_to_a_table_that_is_gone_says_which_one_it_was(ledger: Ledger) -> None:
    create_flights(ledger)
    table = ledger.table(TABLE)
    ledger.drop_table(TABLE)

    with pytest.raises(ConflictError) as raised:
        ledger.append(table, [AddFile("a", ("1",))])

    assert "table 1 main.flights" in raised.value.explain()
    assert "table 1 main.flights" in str(raised.value)
