"""Commands over rows on this host: tables with their files and history, conflicts explained."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from ledger.cli.reading import anomalies
from ledger.config.address import Address
from ledger.core.commands import TableWrite
from ledger.core.partitions.values import HIVE_NULL
from ledger.errors import (
    LedgerError,
    SettingsError,
    UnknownColumnError,
    UnknownTableError,
    UnknownVersionError,
)
from ledger.expressions.parse import PredicateSyntaxError
from ledger.log.wire.file_list import AddFile, FileList, listed
from ledger.machine.process import ExitCode
from tests.core.parts import footprint, table_of
from tests.driver import CATALOG, STARTED_AT
from tests.projections.filing import commit
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import BY_HOUR, Lakeledger, command_line, played, told


def repartitioned() -> Followed:
    """Return a domain with a table whose files are partitioned by hour, later ones by day."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights", made=BY_HOUR)
    commit(domain, session, table, ["old"])
    by_day = table_of(("hour", "string"), ("day", "int"), by=["day"])  # A column of its own.
    domain.alter_table(session, table, by_day, "REPLACE TABLE")
    commit(domain, session, table, ["new"])
    return domain


def half_created() -> Followed:
    domain = Followed()
    session = domain.open_session()
    domain.create_table(session, "flights")
    domain.drop_table(session, domain.create_table(session, "planes"))
    domain.create_table(session, "planes", txn=domain.open_txn(session))
    return domain


def in_directories() -> Followed:
    """Return a domain with a table of whose files the ledger knows nothing."""
    domain = Followed()
    domain.create_table(domain.open_session(), "flights", layout="directories")
    return domain


def several_tables() -> Followed:
    """Return a domain whose tables have two files without statistics, no file, and a large one."""
    domain = Followed()
    session = domain.open_session()
    alpha, _, gamma = (domain.create_table(session, name) for name in ("alpha", "beta", "gamma"))
    for table, files in (
        (alpha, [AddFile("a", size=1_000), AddFile("b", size=124)]),
        (gamma, [AddFile("c", size=5 << 20, stats='{"numRecords":1234567}')]),
    ):
        listed_files = listed(footprint(), FileList(files))
        domain.commit(session, 0, TableWrite(table, domain.head.position, (), listed_files))
    return domain


@pytest.fixture
def lakeledger(tmp_path: Path, request: pytest.FixtureRequest) -> Lakeledger:
    """Return a way to run the command line where rows are kept, of `played` unless it is told."""
    return command_line(getattr(request, "param", played)(), tmp_path)


def of_flights(*command: str) -> list[str]:
    return ["table", *command, "flights", "--catalog", CATALOG, "--output", "json"]


def test_names_are_of_the_catalog_of_the_settings_or_the_given_one(lakeledger: Lakeledger) -> None:
    named = ["table", "show", "flights", "--output", "json"]

    assert told(lakeledger(*named, LAKELEDGER_CATALOG=CATALOG))["catalog"] == CATALOG
    with pytest.raises(UnknownTableError, match=r"there is no table main\.flights"):
        raise lakeledger(*named).exception or AssertionError
    assert told(lakeledger(*named, "--catalog", CATALOG, LAKELEDGER_CATALOG="other"))["table"] == 1


SECOND = (datetime.fromtimestamp(STARTED_AT / 1000, UTC) + timedelta(seconds=1)).isoformat()


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ([], ["b"]),
        (["--version", "1"], ["a", "b"]),
        (["--version", "0"], []),
        (["--position", "6"], ["a", "b"]),
        (["--as-of", SECOND], ["b"]),
        (["--version", "1", "--limit", "1"], ["a"]),
        (["--partition", "hour=1"], ["b"]),
        (["--partition", "hour=2"], []),
        (["--where", "hour = '1'"], ["b"]),
        (["--where", "hour = '2'"], []),
        (["--where", "hour = '1'", "--version", "1"], ["a", "b"]),
        (["--where", "hour = '2'", "--as-of", SECOND], []),
    ],
    ids=" ".join,
)
def test_table_files(lakeledger: Lakeledger, options: list[str], paths: list[str]) -> None:
    """The files are those of now, or as of a version, a position or a time; or of a partition."""
    found = told(lakeledger(*of_flights("files"), *options))

    assert [row["path"] for row in found] == paths
    assert all(row["partition"] == {"hour": "1"} for row in found)


def modified_at(when: int) -> Followed:
    """Return a domain with a file that its writer says was modified at a time."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    listed_file = listed(footprint(), FileList([AddFile("a", modified=when)]))
    domain.commit(session, 0, TableWrite(table, domain.head.position, (), listed_file))
    return domain


@pytest.mark.parametrize(
    ("lakeledger", "shown"),
    [
        (partial(modified_at, 0), None),
        (partial(modified_at, STARTED_AT), "2023-11-14T22:13:20.000Z"),
        (partial(modified_at, 253_402_300_799_000), "9999-12-31T23:59:59.000Z"),
        (partial(modified_at, 253_402_300_800_000), None),
        (partial(modified_at, STARTED_AT * 1000), None),
        (partial(modified_at, 2**63 - 1), None),
    ],
    indirect=["lakeledger"],
    ids=["none", "plain", "last", "behind it", "microseconds", "largest"],
)
def test_modified(lakeledger: Lakeledger, shown: str | None) -> None:
    """A time that a writer gives is shown, if there is one in any calendar."""
    assert [row["modified"] for row in told(lakeledger(*of_flights("files")))] == [shown]


OLD, NEW = ("old", {"hour": "1"}), ("new", {"day": "1"})


@pytest.mark.parametrize("lakeledger", [repartitioned], indirect=True)
@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], [NEW, OLD]),
        (["--partition", "day=1"], [NEW, OLD]),
        (["--partition", "day=2"], [OLD]),
        (["--version", "1", "--partition", "hour=1"], [OLD]),
        (["--version", "1", "--partition", "hour=2"], []),
    ],
)
def test_files_from_before_a_repartition_have_the_values_of_then(
    lakeledger: Lakeledger, options: list[str], shown: list[tuple[str, dict[str, str]]]
) -> None:
    found = told(lakeledger(*of_flights("files"), *options))

    assert [(row["path"], row["partition"]) for row in found] == shown


def of_null() -> Followed:
    """Return a domain with files of an hour, and of NULL as writers may have it."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights", made=BY_HOUR)
    adds = [AddFile(path, (hour,)) for path, hour in (("a", "1"), ("b", ""), ("c", None))]
    listed_files = listed(footprint(), FileList(adds))
    domain.commit(session, 0, TableWrite(table, domain.head.position, (), listed_files))
    return domain


@pytest.mark.parametrize("lakeledger", [of_null], indirect=True)
@pytest.mark.parametrize(
    ("value", "paths"), [("1", ["a"]), ("", ["b", "c"]), (HIVE_NULL, ["b", "c"])]
)
def test_files_of_null(lakeledger: Lakeledger, value: str, paths: list[str]) -> None:
    """The empty text in a partition is NULL, as Delta has it."""
    found = told(lakeledger(*of_flights("files"), "--partition", f"hour={value}"))

    assert [row["path"] for row in found] == paths


@pytest.mark.parametrize("lakeledger", [in_directories], indirect=True)
def test_a_table_of_directories_is_not_told_to_be_empty(lakeledger: Lakeledger) -> None:
    result = lakeledger(*of_flights("files"))

    assert told(result) == []
    assert "the ledger knows no files of table flights" in result.stderr
    assert "0 files" not in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--version", "1", "--position", "6"], "at most one of --version"),
        (["--as-of", "yesterday"], "got 'yesterday'"),
        (["--partition", "day=1"], "must name one of hour, got 'day'"),
        (["--partition", "day"], "must name one of hour, got 'day'"),
        (["--partition", "hour"], "must be hour=VALUE, got 'hour'"),
        (["--partition", "hour=1", "--partition", "hour=2"], "got 'hour' twice"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_table_files_usage(lakeledger: Lakeledger, options: list[str], said: str) -> None:
    """What cannot be meant is refused, and said why."""
    result = lakeledger(*of_flights("files"), *options)

    assert result.exit_code == ExitCode.USAGE
    assert said in result.stderr


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["table", "files", "trains"], UnknownTableError),
        (["table", "files", "trains\udcff"], UnknownTableError),
        (["table", "files", "2"], UnknownTableError),
        (of_flights("files", "--version", "9"), UnknownVersionError),
        (of_flights("files", "--where", "minute = 1"), UnknownColumnError),
        (of_flights("files", "--where", "hour = "), PredicateSyntaxError),
        (of_flights("partitions", "--version", "9"), UnknownVersionError),
        (of_flights("partitions", "--where", "minute = 1"), UnknownColumnError),
    ],
    ids=["unknown", "no text", "dropped", "version", "column", "condition", "other", "another"],
)
def test_not_there(lakeledger: Lakeledger, command: list[str], error: type[LedgerError]) -> None:
    """Files of what is not there are an error that says what to do."""
    assert isinstance(lakeledger(*command).exception, error)


@pytest.mark.parametrize(
    "command",
    [["status"], ["table", "list"], ["txn", "list"], ["watermark", "explain"]],
    ids=" ".join,
)
def test_rows_of_another_ledger(lakeledger: Lakeledger, tmp_path: Path, command: list[str]) -> None:
    """Rows are not taken for those of the ledger that was asked for because they are there."""
    (tmp_path / "home/two").mkdir()
    Address("127.0.0.1:1", "two", tmp_path / "store").write(tmp_path / "home/two")

    raised = lakeledger(*command, "--ledger", "two").exception

    assert isinstance(raised, SettingsError)
    assert "the rows belong to ledger demo" in str(raised)
    assert "ledger two was requested" in str(raised)


@pytest.mark.parametrize("time", ["1970-01-02", "1970-01-01", "1969-12-31", "0001-01-01T00+14:00"])
def test_a_table_had_no_files_before_it_was(lakeledger: Lakeledger, time: str) -> None:
    result = lakeledger(*of_flights("files"), "--as-of", time)

    assert result.exit_code == ExitCode.NOT_FOUND
    assert f"had no version at {time}" in result.stderr


def test_at_a_position_before_it_a_table_was_not_there(lakeledger: Lakeledger) -> None:
    result = lakeledger(*of_flights("files"), "--position", "4")

    assert result.exit_code == ExitCode.NOT_FOUND
    assert "did not exist at position 4, it came at 5" in result.stderr


@pytest.mark.parametrize("lakeledger", [half_created], indirect=True)
def test_every_table_is_told_dropped_and_pending_ones_too(lakeledger: Lakeledger) -> None:
    found = told(lakeledger("table", "list", "--dropped", "--output", "json"))
    assert [(row["dropped"] > 0, row["creator"]) for row in found] == [
        (False, 0),
        (True, 0),
        (False, 1),
    ]
    assert told(lakeledger("table", "show", "3", "--output", "json"))["creator"] == 1
    header, *_ = lakeledger("table", "list", "--dropped").stdout.splitlines()
    assert header.split()[-2:] == ["dropped", "creator"]


def test_a_table_shown_to_people_has_rows_files_and_bytes_first(lakeledger: Lakeledger) -> None:
    shown = lakeledger("table", "show", "flights", "--catalog", CATALOG).stdout.splitlines()
    fields = told(lakeledger(*of_flights("show")))

    assert [line.split()[:2] for line in shown[:4]] == [
        ["name", f"{CATALOG}.flights"],
        ["rows", "1"],
        ["files", "1"],
        ["bytes", "10"],
    ]
    assert (fields["rows"], fields["files"], fields["bytes"]) == (1, 1, 10)
    names = [line.split()[0] for line in shown]
    assert not {"dropped", "creator"} & set(names)
    assert names.index("columns") < names.index("last_write_id")


@pytest.mark.parametrize("lakeledger", [several_tables], indirect=True)
def test_tables_are_listed_with_their_sums_sorted_and_chosen(lakeledger: Lakeledger) -> None:
    def names(*options: str) -> list[str]:
        return [row["name"] for row in told(lakeledger("table", "list", *options, "-o", "json"))]

    assert names() == ["alpha", "beta", "gamma"]
    assert names("--sort", "bytes") == ["gamma", "alpha", "beta"]
    assert names("--sort", "files") == ["alpha", "gamma", "beta"]
    assert names("--sort", "rows") == ["gamma", "beta", "alpha"]
    assert names("--sort", "changed") == ["gamma", "alpha", "beta"]
    assert names("--like", "AL*|*mma") == ["alpha", "gamma"]
    assert names("--like", "lake.b*") == ["beta"]
    alpha, beta, _ = told(lakeledger("table", "list", "-o", "json"))
    assert (alpha["rows"], alpha["files"], alpha["bytes"]) == (None, 2, 1_124)
    assert (beta["rows"], beta["files"], beta["bytes"]) == (0, 0, 0)
    header, *lines = lakeledger("table", "list").stdout.splitlines()
    assert header.split()[1:6] == ["name", "rows", "files", "bytes", "last_change"]
    assert lines[2].split()[1:6] == ["gamma", "1,234,567", "1", "5.0", "MiB"]


def test_a_table_that_lost_its_name_is_found_by_its_id(lakeledger: Lakeledger) -> None:
    assert told(lakeledger("table", "show", "2", "--output", "json"))["name"] == "planes"


def test_the_history_of_a_table_is_told_newest_first(lakeledger: Lakeledger) -> None:
    found = told(lakeledger(*of_flights("history")))

    assert [row["version"] for row in found] == [3, 2, 1, 0]
    assert [row["operation"] for row in found] == ["WRITE", "DELETE", "WRITE", "CREATE TABLE"]
    assert len(told(lakeledger(*of_flights("history"), "--below", "2", "--limit", "1"))) == 1


def test_the_watermark_of_a_table_names_holders_and_what_may_go(lakeledger: Lakeledger) -> None:
    of_table = ["watermark", "explain", "--table", "flights", "--catalog", CATALOG]
    found = told(lakeledger(*of_table, "--output", "json"))
    later = told(lakeledger(*of_table, "--since", "9", "--output", "json"))

    assert (found["name"], found["held_by"]) == ("lake.flights", "nothing")
    assert (found["files_removed_up_to"], found["write_ids_below"]) == (13, 4)
    assert found["released_files"] == [{"path": "a", "removed": 8}]
    assert (found["aborted_write_ids"], later["released_files"]) == ([], [])


def test_released_files_come_by_pages(lakeledger: Lakeledger) -> None:
    of_table = ["watermark", "explain", "--table", "flights", "--catalog", CATALOG]
    page = lakeledger(*of_table, "--limit", "1")
    _, _, further = page.stderr.strip().partition("there may be more: ")
    rest = told(lakeledger(*of_table, *further.split(), "--output", "json"))

    assert (further, rest["released_files"]) == ("--since 8 --path a", [])


def test_anomalies_are_shown_with_their_table(lakeledger: Lakeledger) -> None:
    (anomaly,) = told(lakeledger(*of_flights("show")))["anomalies"]
    shown = lakeledger("table", "show", "flights", "--catalog", CATALOG).stdout

    assert (anomaly["kind"], anomaly["path"]) == ("removed_not_live", "ghost")
    assert re.search(r"anomalies +removed_not_live 1\n", shown)


@pytest.mark.parametrize(
    ("ghosts", "told", "more"), [(1, 1, False), (50, 50, False), (51, 50, True)]
)
def test_the_first_anomalies_are_shown(ghosts: int, told: int, *, more: bool) -> None:
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights", made=BY_HOUR)
    commit(domain, session, table, [], [f"ghost-{each}" for each in range(ghosts)])

    found = anomalies(domain.reads, None)

    assert (len(found["anomalies"]), found["more_anomalies"]) == (told, more)


@pytest.mark.parametrize("option", [["--since", "6"], ["--path", "a"]], ids=" ".join)
def test_watermark_usage(lakeledger: Lakeledger, option: list[str]) -> None:
    """Where to go on is said of the files of one table."""
    assert lakeledger("watermark", "explain", *option).exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    "command",
    [
        ["table", "files", "flights", "--catalog", CATALOG],
        ["table", "history", "flights", "--catalog", CATALOG],
        ["table", "list", "--dropped"],
        ["conflict", "list"],
        ["txn", "show", "2"],
        ["watermark", "explain"],
        ["watermark", "explain", "--table", "flights", "--catalog", CATALOG],
    ],
    ids=" ".join,
)
def test_every_answer_has_a_form_for_people_too(lakeledger: Lakeledger, command: list[str]) -> None:
    result = lakeledger(*command)

    assert result.exit_code == ExitCode.DONE, result.output
    assert "as of position 13" in result.stderr
    assert len(result.stdout.splitlines()) > 1
