"""Commands over the log itself: verify it, watch it, judge its commits again."""

import json
from contextlib import closing
from enum import StrEnum
from typing import Annotated, Any

import typer

from ledger.backup.joined import joined_log
from ledger.cli.answers import Output, OutputOption, answer, answer_rows, progress_bar, say
from ledger.cli.failures import Stopped
from ledger.cli.log.size import log_size
from ledger.cli.log.trim import log_pin, log_trim, log_unpin
from ledger.cli.log.watch import condition, line_of, shown_line, watch
from ledger.cli.options import AWAY_S, NameOption, number_option
from ledger.cli.roles.role import images_of
from ledger.cli.streams import is_read
from ledger.clock import time_text
from ledger.config.config import load
from ledger.config.search import find_address, log_of
from ledger.core.commands import LEVELS, IsolationLevel
from ledger.core.decide.whatif import Redecided
from ledger.core.state.traits import LEVEL_OF
from ledger.errors import LogUnavailableError, SettingsError
from ledger.log.log_end import last_position
from ledger.log.port import Log, Topic
from ledger.log.replay import verify, what_if
from ledger.log.trimmed import start_of
from ledger.machine.exit_codes import ExitCode
from ledger.reads.amounts import amount
from ledger.session.tail import read_genesis

GENESIS_WAIT_S = 10.0

log = typer.Typer(no_args_is_help=True)

NearOption = Annotated[
    str | None, typer.Option(help="Kafka's host:port; by default the ledger up here.")
]


@log.command("verify")
def log_verify(
    bootstrap: NearOption = None,
    ledger: NameOption = None,
    *,
    archive: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Read the events that were trimmed from this backup."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Read the whole log as every reader does; name the position of the first damage.

    A trimmed log is read from where it begins, and no digest of its state is known. With --archive
    it is read from the first event of the ledger on.
    """
    address = find_address(bootstrap, ledger)
    with closing(log_of(address)) as kafka, progress_bar("reading", transient=True) as progress:
        found = verify(kafka if archive is None else joined_log(kafka, archive), progress)
    answer(
        {
            "ledger": address.ledger,
            "begins_at": found.begun.head.position + 1,
            "position": found.head.position,
            "epoch": found.head.epoch,
            "last_cmd": found.head.last_cmd,
            "chain": found.head.chain.hex(),
            "records": found.records,
            "dropped": {verdict.name.lower(): count for verdict, count in found.dropped.items()},
            "events": dict(found.events.most_common()),
            "digest": found.digest or None,
        },
        output,
    )


@log.command("tail")
def log_tail(
    *,
    bootstrap: NearOption = None,
    ledger: NameOption = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Only events with field=value; several must all hold.")
    ] = None,
    after: Annotated[
        int | None, number_option("Begin after this position, not with the events to come.")
    ] = None,
    last: Annotated[
        int | None, number_option("Begin with this many last events, before any --where.")
    ] = None,
    follow: Annotated[bool, typer.Option(help="Go on until Ctrl-C.")] = True,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print events as they arrive, one per line."""
    is_wanted = condition(where or ())
    if after is not None and last is not None:
        raise Stopped("give only one of --after and --last", ExitCode.USAGE)
    if after is None and last is None and not follow:
        raise Stopped(
            "--no-follow shows only recorded events: give --after with a position, 0 for all, or "
            "--last with a count",
            ExitCode.USAGE,
        )
    address = find_address(bootstrap, ledger)
    with closing(log_of(address)) as kafka:
        domain = read_genesis(kafka, GENESIS_WAIT_S).domain
        if last is not None:
            after = max(start_of(kafka, domain).head.position, last_position(kafka, domain) - last)
        is_away = False
        try:
            for event in watch(kafka, domain, after):
                if event is None and not (follow and is_read()):
                    return
                if event is None or is_away:
                    is_away = tell_of_broker(kafka, was_away=is_away)
                line = line_of(event) if event is not None else None
                if line is not None and is_wanted(line):
                    typer.echo(json.dumps(line) if output is Output.JSON else shown_line(line))
        except KeyboardInterrupt:
            return


def tell_of_broker(log: Log, *, was_away: bool) -> bool:
    """Return whether the broker is unreachable, and print a change of that.

    A reader cannot tell an unreachable broker from one without new events.
    """
    try:
        log.ends(Topic.EVENTS, AWAY_S)
    except LogUnavailableError as away:
        if not was_away:
            say(f"nothing comes: {away}. Waiting for it")
        return True
    if was_away:
        say("the broker is back")
    return False


log.command("size")(log_size)
log.command("trim")(log_trim)
log.command("pin")(log_pin)
log.command("unpin")(log_unpin)


class Grain(StrEnum):
    """What two commits are compared by."""

    ROW = "row"
    FILE = "file"


def whatif(
    *,
    bootstrap: NearOption = None,
    ledger: NameOption = None,
    level: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(LEVELS)}, in any case; or snapshot. By default the level of "
            "each table, if a grain is given."
        ),
    ] = "",
    grain: Annotated[
        Grain | None,
        typer.Option(help="Judge tables with marks as if their grain was this. By default rows."),
    ] = None,
    since: Annotated[int, number_option("Only commits from this position on.")] = 1,
    output: OutputOption = Output.TABLE,
) -> None:
    """Judge the commits of the log again at another level or grain; list the changed outcomes."""
    if not level and grain is None:
        raise SettingsError("give --level or --grain, so that commits are judged otherwise")
    wanted = level_of(level) if level else None
    by_file = grain is Grain.FILE
    address = find_address(bootstrap, ledger)
    with closing(log_of(address)) as kafka, progress_bar("judging", transient=True) as progress:
        whole = images_of(load()).whole(kafka)
        found = list(what_if(whole, wanted, since=since, by_file=by_file, progress=progress))
    changed = [each for each in found if each.committed != each.would_commit]
    how = f"at {wanted or 'the level of each table'}{', by file' if by_file else ''}"
    say(f"{amount(len(found), 'commit')} judged {how}: {len(changed)} would end otherwise")
    answer_rows([changed_row(each) for each in changed], output)


def level_of(text: str) -> IsolationLevel:
    """Return the level of a text, in any case and with dashes or not; raises SettingsError."""
    plain = text.replace("-", "").replace("_", "").lower()
    found = LEVEL_OF.get(plain) or LEVEL_OF.get(f"{plain}isolation")
    if found is None:
        raise SettingsError(f"a level must be one of {', '.join(LEVELS)}, got {text!r}")
    return found


def changed_row(each: Redecided) -> dict[str, Any]:
    """Return one commit that would end otherwise, as a row."""
    evidence = each.evidence
    return {
        "position": each.position,
        "txn": each.txn,
        "at": time_text(each.at),
        "was": "committed" if each.committed else "failed",
        "would": "commit" if each.would_commit else "fail",
        "exception": evidence.exception if evidence is not None else "",
        "rule": evidence.rule if evidence is not None else "",
        "table": evidence.table if evidence is not None else 0,
        "unit": evidence.unit if evidence is not None else "",
        "winner": evidence.winner.position if evidence is not None else 0,
    }
