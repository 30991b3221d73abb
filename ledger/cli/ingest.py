"""The commands `ingest`: run a mapping here, look at its first rows, and see how far each is."""

from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from ledger.cli.answers import Output, OutputOption, answer_rows, say, shown
from ledger.cli.options import NameOption
from ledger.cli.roles.ingest import APPLICATION, MappingArgument, work
from ledger.cli.roles.role import run_role
from ledger.client import Ledger
from ledger.clock import SystemClock, time_text
from ledger.config.search import client_for, find_address
from ledger.ingest.ingest import Ingest
from ledger.ingest.mapping import read_mapping
from ledger.ingest.opening import opened_ingest
from ledger.ingest.preview import previews
from ledger.ingest.status import PartitionStatus, statuses

TELL_S: Final = 5.0
RUN: Final = "run"


class MappingGroup(TyperGroup):
    """Commands of which `run` needs no name: `lakeledger ingest MAPPING`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return what is left to be parsed; a line that names no command runs a mapping.

        Its options may stand in front of the mapping.
        """
        return super().parse_args(ctx, self._named(ctx, args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command, also for words that were not parsed here."""
        return super().resolve_command(ctx, self._named(ctx, args))

    def _named(self, ctx: Any, args: list[str]) -> list[str]:
        known = {*self.commands, *ctx.help_option_names}
        return [RUN, *args] if args and args[0] not in known else args


app = typer.Typer(cls=MappingGroup, no_args_is_help=True)


@app.callback()
def ingest() -> None:
    """Bring records of Kafka topics into tables."""


@app.command(RUN)
def run(
    mapping: MappingArgument,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the first rows and bad records; write nothing.")
    ] = False,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring records of topics into tables until Ctrl-C; the batch in flight is committed first."""
    plan, address = read_mapping(mapping), find_address(ledger=ledger)
    client = client_for(address)

    def connect() -> Ledger:
        return Ledger.connect(address.bootstrap, address.ledger, application=APPLICATION)

    if dry_run:
        with connect() as made:
            found = previews(made, plan, address.bootstrap, client)
        for each in found:
            say(f"topic {each.topic} into table {each.table}")
            for name, kind in each.new.items():
                say(f"  the table gets the column {name} {kind}")
            lines = [{name: shown(value) for name, value in row.items()} for row in each.rows]
            answer_rows(lines, output)
            for bad in each.bad:
                at = f"{bad.record.partition} offset {bad.record.offset}"
                say(f"  bad record at {at}: {bad.reason}")
        return

    def serve(stop: Signal) -> None:
        with connect() as made, closing(opened_ingest(made, plan, address.bootstrap, client)) as it:
            work(it, stop, Told())

    run_role("ingest", serve, with_parent=False, output=output)


class Told:
    """Says now and then how far an ingest came."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._said_s = float("-inf")

    def __call__(self, ingest: Ingest) -> None:
        """Say how far it is, if that is due."""
        now_s = self._clock.monotonic_s()
        if now_s - self._said_s < TELL_S:
            return
        self._said_s = now_s
        tally = ingest.tally
        say(
            f"{sum(tally.records.values()):,} records in {tally.commits:,} commits, "
            f"{sum(tally.bad.values()):,} bad, {sum(tally.lag.values()):,} to go"
            + (f"; waits: {tally.trouble}" if tally.trouble else "")
        )


@app.command("status")
def status(
    mapping: Annotated[
        Path | None,
        typer.Argument(metavar="[MAPPING]", help="Ask its brokers for the ends of the topics."),
    ] = None,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far each partition of each ingest is, and its lag.

    Without a mapping the lag is the one of the last commit. With one, each of its topics must be
    there, and partitions that were never read have no offset.
    """
    address = find_address(ledger=ledger)
    plan = None if mapping is None else read_mapping(mapping)
    with Ledger.connect(address.bootstrap, address.ledger, application=APPLICATION) as made:
        found = statuses(made, plan, address.bootstrap, client_for(address))
    answer_rows([as_line(each) for each in found], output)


def as_line(each: PartitionStatus) -> dict[str, Any]:
    """Return a partition as people read it."""
    return {
        "ingest": each.ingest,
        "topic": each.partition.topic,
        "partition": each.partition.number,
        "offset": each.offset,
        "end": each.end,
        "lag": each.lag,
        "lost": each.lost,
        "at": None if each.at is None else time_text(each.at),
        "position": each.position,
    }
