"""The command that says how a ledger is."""

import json
from contextlib import closing
from time import monotonic
from typing import Any, Final

import typer

from ledger.address import Address
from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.log import GENESIS_WAIT_S
from ledger.cli.options import NameOption
from ledger.log.port import LogReader, Topic
from ledger.machine.process import ExitCode
from ledger.sdk.receipt import Token
from ledger.sdk.tail import read_genesis
from ledger.sdk.view import check_identity
from projections.cli.reading import anomalies, reading, when

BEAT_WAIT_S: Final = 1.0
READ_MAX: Final = 100


def status(ledger: NameOption = None, output: OutputOption = Output.TABLE) -> None:
    """Say who leads, how far the rows are behind, what is open, and what cannot be."""
    with reading(ledger) as (address, reads):
        origin, end, leader = seen_in_log(address)
        check_identity(reads, origin, 0)
        mark = reads.watermark()
        counts = reads.counts()
        newest = reads.history(max(0, reads.position() - 1), 1)
        answer(
            {
                "ledger": address.ledger,
                "id": reads.identity().ledger,
                "bootstrap": address.bootstrap,
                "leader": leader,
                "position": reads.position(),
                "records_in_log": end,
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
    if leader is None:
        say("no sequencer has beaten for a second: commands wait until one leads")
        raise typer.Exit(ExitCode.UNHEALTHY)


def seen_in_log(address: Address) -> tuple[Token, int, dict[str, Any] | None]:
    """Return whose the log is, its end, and the leader if it beats within a second."""
    with closing(address.log()) as log:
        created = read_genesis(log, GENESIS_WAIT_S)
        end = log.ends(Topic.EVENTS)[1]
        with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
            leader = leader_heard(beats, BEAT_WAIT_S)
        return Token(created.ledger, created.domain, 0), end, leader


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
