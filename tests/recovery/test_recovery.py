"""A ledger whose log lost its end is surveyed, cut and led again: nothing is given twice."""

from contextlib import closing
from pathlib import Path

import pytest

from ledger.config.settings import SequencerSettings
from ledger.core.acceptance import LogHead, RecordKind
from ledger.core.commands import OpenTxn
from ledger.errors import ConflictError, LedgerError, LogDamagedError, LogUnavailableError
from ledger.log.acceptor import Acceptor
from ledger.log.batches import BatchAcceptor
from ledger.log.memory import MemoryLog
from ledger.log.port import Record, Topic
from ledger.log.wire.codec import encode_command, record_kind
from ledger.machine.folder import STORE
from ledger.machine.former_rows import set_rows_aside
from ledger.recovery.cutting import append_cut
from ledger.recovery.survey import survey
from ledger.testing import InMemoryLedger
from projections.queries import open_reads
from tests.driver import NEVER
from tests.recovery.logs import commits, followed, led, surveyed


@pytest.mark.parametrize("keep", [0.4, 0.6, 0.9])
@pytest.mark.parametrize("has_rows", [True, False])
def test_nothing_is_given_twice(tmp_path: Path, keep: float, *, has_rows: bool) -> None:
    log, root = MemoryLog(), tmp_path / "store"
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        txns = commits(ledger)
        last = ledger.token.position
        version = ledger.table("planes").version
        ids = ledger.table("planes").last_write_id
    whole = len(log.topics[Topic.EVENTS].records)
    if has_rows:
        followed(log, root)
    log.cut(Topic.EVENTS, round(whole * keep))

    found = survey(log, root, margin=50)
    assert found.is_ahead is has_rows
    assert {each.txn for each in found.lost} <= set(txns)
    event = append_cut(log, found, "power cut")
    assert event.control.position > last

    with led(log) as ledger:
        kept = ledger.reads().write_ids_at(1)
        (txn,) = commits(ledger, count=1)
        row = ledger.table("planes")
        now = ledger.reads().write_ids_at(1)
        lost = [each for each in range(1, ids + 1) if not kept.is_valid(each)]
    assert txn > max(txns)
    assert row.version > version
    assert row.last_write_id > ids
    assert not any(now.is_valid(each) for each in lost)
    assert now.is_valid(row.last_write_id)
    assert lost


def test_rows_that_were_set_aside(tmp_path: Path) -> None:
    log, rows = MemoryLog(), tmp_path / STORE
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        txns = commits(ledger)
    followed(log, rows)
    set_rows_aside(tmp_path, lambda _line: None)
    (tmp_path / f"{STORE}.aside-0").mkdir()
    log.cut(Topic.EVENTS, 10)
    followed(log, rows)
    found = surveyed(log, rows, margin=0)
    (aside,) = [
        witness.name for witness in found.witnesses if witness.seen.position > found.head.position
    ]
    assert aside.startswith(f"rows in {rows}.aside-")
    assert {each.known_from for each in found.lost} == {aside}
    append_cut(log, found, "power cut")
    with led(log) as ledger:
        assert commits(ledger, count=1) > [max(txns)]


def test_a_sequencer_starts_from_behind_the_cut(tmp_path: Path) -> None:
    log = MemoryLog()
    eager = SequencerSettings(suspect_s=0.01, jitter_s=0.01, checkpoint_positions=1)
    with InMemoryLedger(log=log, settings=eager) as memory, closing(memory.connect()) as ledger:
        ledger.create_table("planes", layout="directories")
        commits(ledger)
        memory.take_over()
        commits(ledger)
        memory.take_over()
        last = ledger.token.position
    log.cut(Topic.EVENTS, 8)
    found = survey(log, tmp_path / "none", margin=50)
    assert found.is_ahead
    append_cut(log, found, "power cut")
    with led(log) as ledger:
        commits(ledger, count=1)
        assert ledger.token.position > last


def test_a_stray_record(tmp_path: Path) -> None:
    """A record that no sequencer wrote is named by its offset, and passed over from then on."""
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        commits(ledger)
    stray = len(log.topics[Topic.EVENTS].records)
    with closing(log.writer(Topic.EVENTS)) as writer:
        writer.append(b"", b"what is this")
    with pytest.raises(LogDamagedError, match=f"recover --pass-over {stray} "):
        survey(log, None)
    with pytest.raises(LedgerError), led(log):
        pass
    found = survey(log, None, passed=[stray], margin=0)
    append_cut(log, found, "a console producer", [stray])
    with led(log) as ledger:
        assert commits(ledger, count=1)
        position = ledger.token.position
    followed(log, tmp_path / "store")
    with closing(open_reads(tmp_path / "store")) as reads:
        assert reads.position() >= position


def test_what_records_behind_a_damaged_one_had_given_is_not_given_again() -> None:
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        txns = commits(ledger, count=20)
        last, row = ledger.token.position, ledger.table("planes")
    damage(log, 12)
    with pytest.raises(LogDamagedError, match="recover --pass-over 12 "):
        survey(log, None)
    found = survey(log, None, passed=[12], margin=0)
    assert found.is_ahead
    append_cut(log, found, "a bad disk", [12])
    with led(log) as ledger:
        (txn,) = commits(ledger, count=1)
        assert ledger.token.position > last
        now = ledger.table("planes")
    assert txn > max(txns)
    assert (now.last_write_id, now.version) > (row.last_write_id, row.version)


def test_a_claim_holds_no_position_and_the_one_that_it_had_is_not_given_again() -> None:
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        commits(ledger)
    with led(log) as ledger:
        ledger.create_table("flights")
    events = log.topics[Topic.EVENTS].records
    log.cut(Topic.EVENTS, max(event.offset for event in events if is_claim(event)) + 1)
    last = len(events)
    damage(log, last - 3)
    found = survey(log, None, passed=[last - 3], margin=0)
    assert append_cut(log, found, "a bad disk", [last - 3]).control.position > last


def is_claim(record: Record) -> bool:
    return record_kind(record.value) is RecordKind.FENCED


def test_a_reader_that_had_read_a_record_before_it_was_damaged(tmp_path: Path) -> None:
    """It stops at the cut that passes over that record: it has read another log."""
    log, root = MemoryLog(), tmp_path / "store"
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        commits(ledger)
    read = BatchAcceptor(log, Acceptor(LogHead()), 0)
    assert list(read.controls(log.topics[Topic.EVENTS].records))
    followed(log, root)
    end = log.ends(Topic.EVENTS)[1]
    damage(log, 12)
    append_cut(log, survey(log, None, passed=[12]), "a bad disk", [12])
    with led(log) as ledger:
        commits(ledger, count=1)
    behind = log.topics[Topic.EVENTS].records[end:]
    with pytest.raises(LogDamagedError, match="passes over a record that was sound"):
        list(read.controls(behind))
    with pytest.raises(LogDamagedError):
        followed(log, root)
    again = BatchAcceptor(log, Acceptor(LogHead()), 0)
    assert list(again.controls(log.topics[Topic.EVENTS].records))


def test_a_cut_that_came_too_late_and_passes_over(tmp_path: Path) -> None:
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes")
    stray = len(log.topics[Topic.EVENTS].records)
    with closing(log.writer(Topic.EVENTS)) as writer:
        writer.append(b"", b"what is this")
    first, second = (survey(log, None, passed=[stray], margin=most) for most in (20, 30))
    append_cut(log, first, "a console producer", [stray])
    with pytest.raises(LogUnavailableError, match="came before the cut"):
        append_cut(log, second, "a console producer", [stray])
    with led(log) as ledger:
        ledger.create_table("flights")
    followed(log, tmp_path / "store")


def test_behind_a_cut_each_command_is_answered() -> None:
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
        commits(ledger)
    log.recreate(Topic.COMMANDS)
    log.cut(Topic.EVENTS, len(log.topics[Topic.EVENTS].records) - 3)
    event = append_cut(log, survey(log, None, margin=20), "power cut")
    assert event.control.cmd == -1
    with led(log) as ledger:
        assert commits(ledger, count=1)


def test_ids_go_on_above_all_that_commands_may_have_been_given_whose_answers_are_lost() -> None:
    log, size, count = MemoryLog(), 900, 20
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
    table = 1
    with closing(log.writer(Topic.COMMANDS)) as writer:
        for n in range(count):
            asked = OpenTxn(7, n + 1, NEVER, "default", size, 0, [table])
            writer.append(b"7", encode_command(asked))
            writer.append(b"7", encode_command(OpenTxn(7, n + 1, NEVER, "default", 10**9, 0)))
            writer.append(b"7", b"what is this")
    found = survey(log, None)
    assert found.unanswered == 3 * count
    assert found.seen.next_txn > found.state.txns.next_txn + count * size
    assert found.seen.tables[table][0] > count * size
    assert found.seen.next_txn < 10**6


def damage(log: MemoryLog, offset: int) -> None:
    records = log.topics[Topic.EVENTS].records
    value = records[offset].value
    records[offset] = records[offset]._replace(value=value[:-1] + bytes([value[-1] ^ 1]))


def test_a_ledger_that_a_sequencer_leads_is_not_cut_beneath_it() -> None:
    log = MemoryLog()
    with led(log), pytest.raises(LogUnavailableError, match="a sequencer leads"):
        survey(log, None)


def test_a_record_that_comes_before_the_cut_makes_it_void_and_that_is_told() -> None:
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes")
    found = survey(log, None, margin=20)
    with led(log) as ledger:
        ledger.create_table("flights")
    with pytest.raises(LogUnavailableError, match="came before the cut"):
        append_cut(log, found, "power cut")
    with led(log) as ledger:
        assert {table.name for table in ledger.tables()} == {"planes", "flights"}


def test_conflicts_behind_a_cut() -> None:
    log = MemoryLog()
    with led(log) as ledger:
        ledger.create_table("planes", layout="directories")
    append_cut(log, survey(log, None, margin=20), "power cut")
    with led(log) as ledger:
        first, second = ledger.begin(), ledger.begin()
        for txn in (first, second):
            txn.write_id("planes")
            txn.wrote("planes", "update", whole_table=True)
        first.commit()
        with pytest.raises(ConflictError):
            second.commit()
