"""The command that repairs a log that lost its end, or accepts a copy of one."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, progress_bar, say
from ledger.cli.log.backup import cluster
from ledger.cli.options import HomeOption, LedgerOption
from ledger.config.address import option_text
from ledger.core.limits import NUMBER_MAX
from ledger.errors import SettingsError

if TYPE_CHECKING:
    from ledger.recovery.survey import Survey

LOST_SHOWN = 20
COMMAND = "lakeledger recover"
UP = "lakeledger up --rebuild"
OVER = "--pass-over"

KafkaOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap", help="Kafka's host:port; by default the embedded one of this machine."
    ),
]
RowsOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="<path>",
        help="Compare with these rows; by default with this machine's rows.",
    ),
]
BackupOption = Annotated[
    str | None,
    typer.Option(
        "--backup",
        metavar="PATH",
        help="Compare with a backup too: a folder, or s3://bucket/prefix.",
    ),
]
PassOverOption = Annotated[
    list[int] | None,
    typer.Option(
        OVER, metavar="OFFSET", min=0, help="Pass over this record of the events topic; repeatable."
    ),
]
MarginOption = Annotated[
    int | None,
    typer.Option(
        min=0, max=NUMBER_MAX, help="How many events may be lost beyond the last that is known."
    ),
]

AdoptOption = Annotated[
    bool,
    typer.Option(
        "--adopt",
        help="Accept events that lie in another topic than the one they were recorded in.",
    ),
]
CutOption = Annotated[
    bool,
    typer.Option("--cut", help="Append the event behind which all ids go on above what was given."),
]


def recover(  # noqa: PLR0917 - options of a command are named
    bootstrap: KafkaOption = None,
    ledger: LedgerOption = None,
    home: HomeOption = None,
    store: RowsOption = None,
    backup: BackupOption = None,
    pass_over: PassOverOption = None,
    margin: MarginOption = None,
    reason: Annotated[str, typer.Option(help="Why, kept in the log.")] = "the log lost its end",
    *,
    adopt: AdoptOption = False,
    cut: CutOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Report what the log lost; with --cut, continue with ids above every id ever given.

    Stop the ledger first. Without --cut and --adopt nothing is changed. The answer says what was
    compared, what is lost, where ids would go on, and the next command.
    """
    from ledger.backup.place import open_place  # noqa: PLC0415 - a command loads only what it uses
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.log.kafka.log import KafkaLog  # noqa: PLC0415
    from ledger.log.trimmed import start_of  # noqa: PLC0415
    from ledger.machine.folder import BROKER, STORE  # noqa: PLC0415
    from ledger.machine.up_settings import UpSettings  # noqa: PLC0415
    from ledger.recovery.survey import survey  # noqa: PLC0415

    given = {"--bootstrap": bootstrap, "--ledger": ledger, "--home": home}
    loaded = load({name.removeprefix("--"): value for name, value in given.items()})
    name = loaded.settings.ledger
    folder = UpSettings(ledger=name, home=loaded.settings.home).folder
    rows, passed = Path(store) if store is not None else folder / STORE, pass_over or []
    place = open_place(backup) if backup is not None else None
    is_meant = margin is not None or bool(passed)
    with (
        cluster(loaded, name) as (kafka, client),
        closing(KafkaLog(kafka, name, client=client)) as log,
    ):
        with progress_bar("reading the log", transient=True) as progress:
            found = survey(log, rows, margin=margin, passed=passed, backup=place, progress=progress)
        mark = start_of(log).mark
        backup = backup or (None if mark is None else mark.archive)
        change = RecoverChange(adopt=adopt, cut=cut, is_meant=is_meant)
        changed = change.make(log, found, reason, passed)
    answer({**fields_of(found), **changed}, output)
    tell_lost(found)
    more = {"--store": store, "--backup": backup, "--margin": margin}
    over = "".join(f" --pass-over {offset}" for offset in passed)
    if not changed and found.is_ahead:
        there = {each: given[each] for each in ("--bootstrap", "--home")}
        broker = None if loaded.settings.bootstrap is not None else folder / BROKER
        for line in compared_ways(found, backup, option_text(there), broker):
            say(line)
    for line in next_steps(found, changed, option_text(given), option_text(more) + over):
        say(line)


class RecoverChange:
    """The requested changes of a run; without both nothing changes.

    `is_meant` says that a log is to be cut of which nothing is known to be lost.
    """

    def __init__(self, *, adopt: bool, cut: bool, is_meant: bool = False) -> None:
        self._adopt = adopt
        self._cut = cut
        self._is_meant = is_meant

    def make(
        self, log: Any, found: "Survey", reason: str, passed: list[int]
    ) -> dict[str, int | bool]:
        """Make the requested changes of the log; return the steps done.

        The cut comes before the mark that makes readers accept a copy: no sequencer may lead in
        between. Raises SettingsError if there is nothing to cut, and as `check_adoption` and
        `append_cut`.
        """
        from ledger.recovery.adopting import adopt_topic, check_adoption, mark_adopted  # noqa: PLC0415 - a command loads only what it uses
        from ledger.recovery.cutting import append_cut  # noqa: PLC0415

        check_adoption(found, adopt=self._adopt, cut=self._cut)
        if self._cut and not (found.is_ahead or self._is_meant):
            raise SettingsError(
                f"there is nothing to cut: the log ends at position {found.head.position}, and no "
                "witness has seen more. Nothing was changed. If you know that it lost its end, say "
                "with --margin N how many events may be lost"
            )
        is_adopted = self._adopt and found.is_copy
        if not self._cut:
            if is_adopted:
                adopt_topic(log, found)
            return {"adopted": True} if is_adopted else {}
        event = append_cut(log, found, reason, passed)
        if is_adopted:
            mark_adopted(log, found, event.control.position)
        return {"cut": event.control.position, **({"adopted": True} if is_adopted else {})}


def fields_of(found: "Survey") -> dict[str, Any]:
    """Return a survey as JSON shows it: what each witness saw, and the ways to go."""
    from ledger.recovery.ways import ways  # noqa: PLC0415 - a command loads only what it uses

    seen, created = found.seen, found.created
    pairs = list(zip(found.witnesses, found.verdicts, strict=True))
    shared = {} if found.shared is None else {"shared_with_backup": found.shared}
    return {
        "ledger": created.name,
        "id": created.ledger,
        "position": found.head.position,
        "chain": found.head.chain.hex(),
        "epoch": found.head.epoch,
        "is_copy": found.is_copy,
        "last_seen": {witness.name: witness.seen.position for witness, _ in pairs},
        "compared": {witness.name: verdict for witness, verdict in pairs},
        **shared,
        "unanswered_commands": found.unanswered,
        "margin": found.margin,
        "next_position": seen.position + 1,
        "next_epoch": seen.epoch + 1,
        "next_txn": seen.next_txn,
        "lost_txns": [each.txn for each in found.lost],
        "lost_commits": [each.txn for each in found.lost if each.status == "committed"],
        "lost_tables": [
            table for table in sorted(seen.tables) if table not in found.state.tables.by_id
        ],
        "gives_up": {way.name: way.events for way in ways(found)} if found.is_ahead else {},
    }


def tell_lost(found: "Survey") -> None:
    """Print the lost txns, their users, and the witnesses that know them."""
    for each in found.lost[:LOST_SHOWN]:
        tables = ", ".join(f"table {part.table} write id {part.write_id}" for part in each.parts)
        end = f"{each.status} at {each.ended}" if each.ended else each.status
        say(
            f"lost: txn {each.txn} of {each.user}, {end}: {tables or 'nothing'} "
            f"(known from: {each.known_from})"
        )
    if len(found.lost) > LOST_SHOWN:
        say(f"and {len(found.lost) - LOST_SHOWN} more; --output json names all")


def compared_ways(
    found: "Survey", backup: str | None, there: str, broker: Path | None
) -> Iterator[str]:
    """Yield what each way gives up, and the commands of a restore if it gives up least.

    `there` are the options of a restore as typed, `broker` is the folder of the embedded broker.
    """
    from ledger.recovery.ways import ways  # noqa: PLC0415 - a command loads only what it uses

    every = ways(found)
    for way in every:
        yield (
            f"a {way.name} keeps the ledger up to position {way.position}, and gives up "
            f"{way.events} known events with {way.commits} of the lost commits"
        )
    if backup is None:
        yield "a backup may hold what the log lost: compare it too, with --backup PATH"
    if every[0].name != "restore" or backup is None:
        return
    replace, clear = "", f"Name another cluster, or delete the topics {found.created.name}.* first"
    if broker is not None:
        replace, clear = " --replace", f"The folder {broker} is moved aside, and nothing is deleted"
    yield (
        f"the restore gives up least: lakeledger restore {shlex.quote(backup)}{there}{replace}, "
        f"which says what follows. {clear}"
    )


def published_in(found: "Survey") -> str:
    """Return the names of published tables, not more than fit a line."""
    from ledger.properties.column_mapping import is_published  # noqa: PLC0415 - only what is used

    tables = found.state.tables.by_id.values()
    names = sorted(table.name for table in tables if is_published(table.definition))
    more = f" and {len(names) - LOST_SHOWN} more" if len(names) > LOST_SHOWN else ""
    return ", ".join(names[:LOST_SHOWN]) + more


def next_steps(
    found: "Survey", changed: Mapping[str, Any], named: str, more: str = ""
) -> Iterator[str]:
    """Yield what was changed, and the next command.

    `named` are the options that name the ledger, `more` the options of the survey, as typed.
    """
    from ledger.recovery.ways import ways  # noqa: PLC0415 - a command loads only what it uses

    if changed:
        position = changed.get("cut", found.head.position)
        lost = (
            f" Receipts from behind position {found.head.position} are void." if found.lost else ""
        )
        if "cut" in changed and (tables := published_in(found)):
            yield (
                f"published tables: {tables}. Readers of Delta may see lost commits there until "
                f"the publisher sets them aside, in _delta_log/_lost_by_cut_{position}. Start it"
            )
        yield (
            f"ledger {found.created.name} goes on from position {position}.{lost} Next: {UP}{named}"
        )
        return
    if found.is_ahead and (tables := published_in(found)):
        yield (
            f"published tables: {tables}. Readers of Delta may see lost commits there until the "
            "publisher has read the cut"
        )
    if found.is_ahead or OVER in more:
        adopt = " --adopt" if found.is_copy else ""
        is_best = not found.is_ahead or ways(found)[0].name == "cut"
        word = "Next" if is_best else "Only if the backup is no way"
        yield f"nothing was changed. {word}: {COMMAND}{adopt} --cut{named}{more}"
        return
    if found.is_copy:
        yield (
            "nothing was changed. The events are in another topic than the one they were recorded "
            "in, or lack the mark of their trim, and no witness saw more. Next: "
            f"{COMMAND} --adopt{named}{more}"
        )
    yield (
        "no witness has seen more than the log holds. Cut it only if you know that it lost its "
        "end, and say with --margin how many events may be lost"
    )
