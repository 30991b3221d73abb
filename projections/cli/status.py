"""The command that says how a ledger is."""

import json
from contextlib import closing
from time import monotonic
from typing import Any, Final, NamedTuple

import typer

from ledger.address import Address
from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.log import GENESIS_WAIT_S
from ledger.cli.options import NameOption
from ledger.errors import ReaderBehindError
from ledger.log.port import LogReader, Topic
from ledger.log_end import last_position
from ledger.machine.process import ExitCode
from ledger.reads import Reads
from ledger.sdk.receipt import Token
from ledger.sdk.tail import read_genesis
from ledger.sdk.view import check_identity
from projections.cli.reading import anomalies, reading, when

BEAT_WAIT_S: Final = 1.0
ROWS_WAIT_S: Final = 10.0
READ_MAX: Final = 100


class Seen(NamedTuple):
    """What the log says: whose it is, its last position, its records, and the leader if one beats.

    There are more records than positions where some do not count, such as a claim that came late.
    """

    origin: Token
    position: int
    records: int
    leader: dict[str, Any] | None


def status(ledger: NameOption = None, output: OutputOption = Output.TABLE) -> None:
    """Say who leads, how far the rows are behind, what is open, and what cannot be.

    Ends with 10 if no sequencer leads, or if the rows do not come to the log's end within 10 s.
    """
    with reading(ledger, output) as (address, reads):
        seen = seen_in_log(address)
        check_identity(reads, seen.origin, 0)
        mark = reads.watermark()
        counts = reads.counts()
        position = reads.position()
        newest = reads.history(max(0, position - 1), 1)
        answer(
            {
                "ledger": address.ledger,
                "id": reads.identity().ledger,
                "bootstrap": address.bootstrap,
                "leader": seen.leader,
                "position": position,
                "lag_positions": max(0, seen.position - position),
                "records_in_log": seen.records,
                "last_event": when(newest[0].at) if newest else None,
                "open_txns": counts.open_txns,
                "aborted_txns": counts.aborted_txns,
                "tables": counts.tables,
                "next_txn": mark.next_txn,
                "watermark": mark.watermark,
                **anomalies(reads, None, output),
            },
            output,
        )
        is_well = tell_of_leader(seen.leader)
        is_well &= tell_of_rows(reads, seen.position, ROWS_WAIT_S)
    if not is_well:
        raise typer.Exit(ExitCode.UNHEALTHY)


def tell_of_leader(leader: dict[str, Any] | None) -> bool:
    """Return whether a sequencer leads, and say so if none does."""
    if leader is None:
        say("no sequencer has beaten for a second: commands wait until one leads")
    return leader is not None


def tell_of_rows(reads: Reads, position: int, wait_s: float) -> bool:
    """Return whether the rows come to what the log holds in time, and say so if they do not."""
    try:
        reads.wait(position, round(wait_s * 1000))
    except ReaderBehindError as behind:
        say(
            f"rows end at position {behind.applied}, the log at {position}, and they did not come "
            f"to it within {wait_s:g} s: see whether the follower runs and keeps up"
        )
        return False
    return True


def seen_in_log(address: Address) -> Seen:
    """Return what the log says, its leader if that beats within a second."""
    with closing(address.log()) as log:
        created = read_genesis(log, GENESIS_WAIT_S)
        position = last_position(log, created.domain)
        end = log.ends(Topic.EVENTS)[1]
        with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
            leader = leader_heard(beats, BEAT_WAIT_S)
        return Seen(Token(created.ledger, created.domain, 0), position, end, leader)


def leader_heard(beats: LogReader, wait_s: float) -> dict[str, Any] | None:
    """Return what a leader says of itself in its next beat, None if none comes in time.

    Records that are no beats are passed over, as standbys do.
    """
    from ledger.sequencer import beat_epoch  # noqa: PLC0415 - loads what leads, for this alone

    until_s = monotonic() + wait_s
    while (left_s := until_s - monotonic()) > 0:
        for record in beats.read(READ_MAX, left_s):
            if beat_epoch(record.value) > 0:
                found: dict[str, Any] = json.loads(record.value)
                return found
    return None
