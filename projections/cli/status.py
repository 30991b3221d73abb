"""The command that says how a ledger is."""

import json
from contextlib import closing
from typing import Any

import typer

from ledger.address import Address
from ledger.cli import NameOption, Output, OutputOption, answer, say
from ledger.cli_log import GENESIS_WAIT_S
from ledger.log.port import Topic
from ledger.process import ExitCode
from ledger.receipt import Token
from ledger.tail import read_genesis
from ledger.view import check_identity
from projections.cli.reading import anomalies, reading, when


def status(ledger: NameOption = None, output: OutputOption = Output.TABLE) -> None:
    """Say who leads, how far the rows are behind, what is open, and what cannot be."""
    with reading(ledger) as (address, reads):
        origin, end, leader = seen_in_log(address)
        check_identity(reads, origin, 0)
        mark = reads.watermark()
        txns = reads.txn_counts()
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
                "open_txns": txns.open,
                "aborted_txns": txns.aborted,
                "tables": len(reads.tables()),
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
    log = address.log()
    with closing(log):
        created = read_genesis(log, GENESIS_WAIT_S)
        end = log.ends(Topic.EVENTS)[1]
        with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
            heard = beats.read(1, 1.0)
        leader = json.loads(heard[0].value) if heard else None
        return Token(created.ledger, created.domain, 0), end, leader
