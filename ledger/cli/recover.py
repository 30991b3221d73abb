"""The command that leads back from a log that lost its end."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, progress_bar, say
from ledger.cli.backup import cluster
from ledger.cli.options import HomeOption, LedgerOption
from ledger.whole_numbers import NUMBER_MAX

if TYPE_CHECKING:
    from ledger.recovery.survey import Survey

LOST_SHOWN = 20


KafkaOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        help="Kafka's host:port; where none is set, the embedded one of this machine.",
    ),
]
RowsOption = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="<path>", help="Rows of before; by default those of this machine."
    ),
]
PassOverOption = Annotated[
    list[int] | None,
    typer.Option(
        metavar="OFFSET", min=0, help="Pass over this record of the events topic; repeatable."
    ),
]
MarginOption = Annotated[
    int | None,
    typer.Option(
        min=0, max=NUMBER_MAX, help="How many events may be lost beyond the last that is known."
    ),
]


def recover(  # noqa: PLR0917 - options of a command are named
    bootstrap: KafkaOption = None,
    ledger: LedgerOption = None,
    home: HomeOption = None,
    store: RowsOption = None,
    pass_over: PassOverOption = None,
    margin: MarginOption = None,
    reason: Annotated[str, typer.Option(help="Why, kept in the log.")] = "the log lost its end",
    *,
    cut: Annotated[
        bool, typer.Option("--cut", help="Cut the log; without it nothing is changed.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what a log has lost, and let the ledger go on above all that was given.

    Stop the ledger first. Without --cut nothing is changed: what is lost is told, and where ids
    would go on.
    """
    from ledger.config import load  # noqa: PLC0415 - a command loads only what it uses
    from ledger.log.kafka import KafkaLog  # noqa: PLC0415
    from ledger.machine.folder import STORE  # noqa: PLC0415
    from ledger.machine.up import UpSettings  # noqa: PLC0415
    from ledger.recovery.cutting import append_cut  # noqa: PLC0415
    from ledger.recovery.survey import survey  # noqa: PLC0415

    loaded = load({"bootstrap": bootstrap, "ledger": ledger, "home": home})
    name, client = loaded.settings.ledger, loaded.settings.client()
    folder = UpSettings(ledger=name, home=loaded.settings.home).folder
    rows, passed = Path(store) if store is not None else folder / STORE, pass_over or []
    with (
        cluster(loaded, name) as kafka,
        closing(KafkaLog(kafka, name, client=client)) as log,
    ):
        with progress_bar("reading the log", transient=True) as progress:
            found = survey(log, rows, margin=margin, passed=passed, progress=progress)
        fields = fields_of(found)
        if not cut:
            answer(fields, output)
            tell_lost(found)
            return
        event = append_cut(log, found, reason, passed)
    answer({**fields, "cut": event.control.position}, output)
    tell_lost(found)
    say(
        f"ledger {name} goes on from position {event.control.position}. Receipts from behind "
        f"position {found.head.position} are void. Next: lakeledger up --rebuild, which sets the "
        "rows of before aside"
    )


def fields_of(found: "Survey") -> dict[str, Any]:
    """Return what was found as fields."""
    seen = found.seen
    return {
        "position": found.head.position,
        "last_seen": {each.name: each.seen.position for each in found.witnesses},
        "unanswered_commands": found.unanswered,
        "margin": found.margin,
        "next_position": seen.position + 1,
        "next_txn": seen.next_txn,
        "lost_txns": [each.txn for each in found.lost],
        "lost_tables": [
            each for each in sorted(seen.tables) if each not in found.state.tables.by_id
        ],
    }


def tell_lost(found: "Survey") -> None:
    """Say which txns are lost, of whom, and what to do."""
    for row in found.lost[:LOST_SHOWN]:
        tables = ", ".join(f"table {each.table} write id {each.write_id}" for each in row.parts)
        end = f"{row.status} at {row.ended}" if row.ended else row.status
        say(f"lost: txn {row.txn} of {row.user}, {end}: {tables or 'nothing'}")
    if len(found.lost) > LOST_SHOWN:
        say(f"and {len(found.lost) - LOST_SHOWN} more; --output json names all")
    if not found.is_ahead:
        say(
            "nothing was found that has seen more than the log holds. Cut it only if you know that "
            "it lost its end, and raise --margin if more may have been acknowledged"
        )
