"""A forgotten person on a running ledger: no byte of it stays where the report does not say."""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from ledger.client import Ledger
from ledger.config.address import Address
from ledger.errors import ConflictError, RowsErasedError
from ledger.forgetting.key_dropping import live_blocks
from ledger.log.kafka.admin import KafkaAdmin
from ledger.log.kafka.log import KafkaLog
from ledger.log.kafka.topics import ANSWER_S
from ledger.log.port import Topic
from ledger.machine.process import ExitCode
from ledger.properties.column_lists import SKIPPED
from ledger.properties.column_mapping import PUBLISH
from ledger.properties.known_properties import ENCRYPTED, INLINE
from ledger.reads.remote.publisher import HttpPublisher
from projections.iceberg.served.tables import ServedTables
from projections.queries import open_reads
from tests.forgetting.every_byte import Places, Planted, Searched, every_place
from tests.integration.commands import answer_of, lakeledger, up
from tests.log.kafka_bench import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

WAIT_S: Final = 150.0
NAME: Final = "people"
COLUMNS: Final = [("id", "bigint"), ("name", "string"), ("mail", "string"), ("land", "string")]
ID: Final = 987654321987
FIRST, SECOND = "Zzplanted Paulina", "Zzplanted Quirina"
MAIL: Final = "zzplanted@sea.example"
PERSON: Final = {"id": ID, "name": FIRST, "mail": MAIL, "land": "DE"}
PLANTED: Final = Planted(["planted"], [ID])
WHERE: Final = f"id = {ID}"
# What a later report must be told: the rows that had the other values are gone.
WIDE: Final = f"{WHERE} OR name IN ('{FIRST}', '{SECOND}') OR mail = '{MAIL}'"
ON: Final = "target.mail = source.mail"
# Small enough that state checkpoints come after a few commits.
QUICK: Final = {
    "LAKELEDGER_SEQUENCER__CHECKPOINT_POSITIONS": "4",
    "LAKELEDGER_FOLLOWER__CHECKPOINT_S": "1",
    "LAKELEDGER_PUBLISHER__CHECKPOINT_S": "1",
}


def others(first: int) -> list[dict[str, Any]]:
    return [
        {"id": first + n, "name": f"other {n}", "mail": f"m{n}", "land": "DE"} for n in range(30)
    ]


def address_of(home: Path) -> Address:
    address = Address.read(home / "lake")
    assert address is not None
    return address


@contextmanager
def connected(home: Path) -> Iterator[Ledger]:
    address = address_of(home)
    assert address.store is not None
    with (
        closing(open_reads(address.store)) as reads,
        Ledger.connect(
            address.bootstrap,
            address.ledger,
            reads=reads,
            warehouse=address.warehouse,
            keys=address.keys,
        ) as ledger,
    ):
        yield ledger


def lived(ledger: Ledger, **properties: str) -> None:
    """Give a person a history: files of several versions, marks, and conditions in the log."""
    properties = {"lakeledger.rows": "marks", "lakeledger.publish": "delta", **properties}
    ledger.create_table(NAME, COLUMNS, properties=properties)
    ledger.append(NAME, others(1_000))
    ledger.append(NAME, [PERSON, *others(2_000)])
    ledger.update(NAME, {"name": f"'{SECOND}'"}, WHERE)
    ledger.delete(NAME, "id = 1003")
    ledger.merge(NAME, [{**PERSON, "land": "FR"}], ON, when_matched_update={"land": "source.land"})
    lost(ledger)
    ledger.append(NAME, others(3_000))


def lost(ledger: Ledger) -> None:
    """Let a txn lose that read and changed the person: its condition stays in the log."""
    first, other = ledger.begin(), ledger.begin()
    assert other.scan(NAME, f"name = '{SECOND}'").count() == 1
    for txn in (first, other):
        txn.update(NAME, {"land": "'ES'"}, f"mail = '{MAIL}'")
    first.commit()
    with pytest.raises(ConflictError):
        other.commit()


def published(home: Path) -> None:
    position = answer_of(home, "status")["position"]
    with closing(HttpPublisher(str(address_of(home).publisher_url))) as publisher:
        publisher.wait(position, round(WAIT_S * 1000))


def served(ledger: Ledger) -> None:
    """Write what a client of the Iceberg catalog would ask for now."""
    tables = ServedTables(ledger.reads, ledger.id)
    tables.table(ledger.table(NAME)).metadata("all")


def until(what: Callable[[], Any]) -> Any:
    """Return what a function returns once it is true; it must be within a bound."""
    found: list[Any] = []

    def attempt() -> Any:
        found.append(what())
        return found[-1]

    eventually(attempt, WAIT_S)
    return found[-1]


def backed_up(home: Path, backup: Path) -> dict[str, Any]:
    """Take a backup with an image, once the follower has a checkpoint."""

    def taken() -> dict[str, Any] | None:
        answer: dict[str, Any] = answer_of(home, "backup", str(backup))
        return answer if answer["image"] is not None else None

    found: dict[str, Any] = until(taken)
    return found


def searched(home: Path, backup: Path) -> Places:
    """Return the places with planted values, by a search of every byte."""
    address = address_of(home)
    with closing(KafkaLog(address.bootstrap, address.ledger)) as log:
        begins = log.ends(Topic.EVENTS)[0]
    with connected(home) as ledger:
        table = Path(ledger.table(NAME).location)
    return every_place(Searched(home / "lake", address.ledger, table, begins), backup, PLANTED)


def reported(answer: dict[str, Any]) -> Places:
    """Return the places that a report names, in the form of a search."""
    found: Places = {}
    for each in answer["remains"]:
        found.setdefault(each["place"], set()).update(named(each["place"], each["where"]))
    return found


def named(place: str, where: str) -> set[str]:
    """Return what a report names in a place: numbers, names of files, or a folder."""
    numbers = where.rpartition("positions ")[2].rpartition("offsets ")[2]
    if place in {"archive", "trimmed records"} or place.startswith("topic "):
        ends = [each.split("..") for each in numbers.split(", ")]
        return {str(n) for each in ends for n in range(int(each[0]), int(each[-1]) + 1)}
    if place in {"published Delta log", "Iceberg metadata"}:
        return set(where.rpartition(": ")[2].split(", "))
    return {where.rpartition("/")[2] if place == "image" else where}


def forget(home: Path, *options: str) -> dict[str, Any]:
    where = WIDE if "--dry-run" in options else WHERE
    answer: dict[str, Any] = answer_of(home, "table", "forget", NAME, "--where", where, *options)
    return answer


def agreed(home: Path, backup: Path) -> Places:
    """Return the places that a search finds, once nothing moves; the report names the same."""

    def steady() -> tuple[Places, Places] | None:
        before = searched(home, backup)
        named = reported(forget(home, "--dry-run"))
        return (before, named) if searched(home, backup) == before else None

    found, said = until(steady)
    assert said == found
    result: Places = found
    return result


def last_event(places: Places) -> int:
    return max(map(int, places["topic events"]))


def trimmed(home: Path, backup: Path, below: int) -> None:
    """Take all events below a position from the log, once nothing needs them."""
    answers: list[str] = []

    def done() -> bool:
        with connected(home) as ledger:
            ledger.append(NAME, [{"id": 5, "name": "later", "mail": "m", "land": "DE"}])
        backed_up(home, backup)
        tried = lakeledger(home, "log", "trim", "--below", str(below), "--yes")
        answers.append(tried.stderr)
        return tried.returncode == ExitCode.DONE

    until(done)


def roll_events(home: Path) -> None:
    """Let the broker close the segment of the events with the next record, and delete it soon."""
    address = address_of(home)
    admin = KafkaAdmin(address.bootstrap, {}, ANSWER_S)
    topic = f"{address.ledger}.{Topic.EVENTS}"
    admin.alter(topic, {"segment.ms": "1", "file.delete.delay.ms": "1"})
    with connected(home) as ledger:
        for number in range(2):
            ledger.append(NAME, [{"id": number, "name": "later", "mail": "m", "land": "DE"}])


def segments(home: Path) -> list[int]:
    folder = home / "lake" / "broker" / "log" / f"lake.{Topic.EVENTS}-0"
    return sorted(int(path.name[:20]) for path in folder.glob("*.log*"))


def test_what_knows_a_person_is_what_the_report_says(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    with up(home, "--publish", **QUICK) as command:
        with connected(home) as ledger:
            lived(ledger)
            served(ledger)
        published(home)
        backed_up(home, backup)
        before = agreed(home, backup)
        assert before.keys() >= {"data file", "topic events", "archive", "published Delta log"}

        done = forget(home, "--yes", "--reason", "asked for")
        assert (done["rows"], set(done["files"])) == (1, before["data file"])
        published(home)
        after = agreed(home, backup)
        assert "data file" not in after
        assert reported(done)["topic events"] == after["topic events"]

        with connected(home) as ledger:
            assert ledger.scan(NAME, WHERE).count() == 0
        trimmed(home, backup, last_event(after) + 1)
        left = agreed(home, backup)
        assert "topic events" not in left
        assert left["trimmed records"] == after["topic events"]
        roll_events(home)
        # A segment goes only once all of its records are trimmed.
        trimmed(home, backup, answer_of(home, "status")["position"])
        first = segments(home)[0]
        assert command.end(signal.SIGTERM) == ExitCode.DONE
    with up(home, "--publish", **QUICK) as command:
        until(lambda: segments(home)[0] > first)
        end = agreed(home, backup)
        assert end.keys() == left.keys() - {"trimmed records"}
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def test_nothing_knows_values_of_columns_without_statistics(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    with up(home, "--publish", **QUICK) as command:
        with connected(home) as ledger:
            lived(ledger, **{SKIPPED: "id, name, mail, land"})
        backed_up(home, backup)
        assert searched(home, backup).keys() == {"data file"}
        done = forget(home, "--yes")
        assert (done["rows"], done["remains"]) == (1, [])
        assert searched(home, backup) == {}
        assert command.end(signal.SIGTERM) == ExitCode.DONE


def test_the_bytes_of_encrypted_rows_are_nowhere_once_their_key_is_dropped(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    folder = home / "lake" / "keys"
    with up(home, "--caches", "1", **QUICK) as command:
        with connected(home) as ledger:
            lived(ledger, **{PUBLISH: "none", INLINE: "on", ENCRYPTED: "true"})
            first = ledger.table(NAME).version
        backed_up(home, backup)
        assert searched(home, backup).keys() <= {"data file"}
        with connected(home) as ledger:
            assert ledger.scan(NAME, WHERE, version=2).count() == 1
            held = {file.read_bytes() for file in folder.rglob("*.key")}
        assert {len(key) for key in held} == {32}
        planned = {each["place"] for each in forget(home, "--dry-run")["remains"]}
        assert "encrypted rows in the log" in planned

        done = forget(home, "--yes", "--reason", "asked for")
        assert (done["rows"], done["remains"], set(done["keys"].values())) == (1, [], {""})
        backed_up(home, backup)
        assert searched(home, backup) == {}
        files = [file for root in (home, backup) for file in root.rglob("*") if file.is_file()]
        assert not [file for file in files if any(key in file.read_bytes() for key in held)]
        with connected(home) as ledger:
            assert ledger.scan(NAME, WHERE).count() == 0
            assert ledger.scan(NAME).count() > 0
            with pytest.raises(RowsErasedError):
                ledger.scan(NAME, version=2).to_arrow()
            assert ledger.table(NAME).version > first
            ledger.append(NAME, [PERSON])
            (name,) = live_blocks(ledger.reads(), ledger.table(NAME))
        drop = ("table", "keys", "drop", NAME, "--month", name.month, "--yes")
        refused = lakeledger(home, *drop, "--output", "json")
        assert (refused.returncode, name.text in refused.stdout) == (ExitCode.FAILED, True)
        answer_of(home, "table", "flush", NAME)
        assert all(each["dropped"] for each in answer_of(home, *drop))
        listed = answer_of(home, "table", "keys", "list", NAME)
        assert {(each["status"], each["live_blocks"]) for each in listed} == {("dropped", 0)}
        assert command.end(signal.SIGTERM) == ExitCode.DONE
