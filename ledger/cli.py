"""The root of the command line: up, init, serve and log; every package adds commands of its own.

Answers go to stdout, everything said about the work to stderr. An error is one readable paragraph
and an exit code of `ledger.process.ExitCode`; `--debug` shows where it came from.
"""

import json
import os
import signal
import socket
import sys
import traceback
from enum import StrEnum
from functools import cache
from importlib.metadata import entry_points, version
from pathlib import Path
from threading import Event as Signal
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import structlog
import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from ledger.errors import LedgerError
from ledger.process import (
    ExitCode,
    exit_code,
    freeze_recovered,
    interruptible,
    role_process,
    set_up_logging,
)
from ledger.whole_numbers import NUMBER_MAX

if TYPE_CHECKING:
    from ledger.config import Loaded

DISTRIBUTION = "lakeledger"
COMMANDS = "lakeledger.commands"
COPIES_MAX = 2**15 - 1  # Kafka's own bound.
log_lines = structlog.get_logger("lakeledger.cli")

app = typer.Typer(
    name="lakeledger",
    help="LakeLedger: the transaction manager of a data lake.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
serve = typer.Typer(help="Run one role in this process, for a supervisor of your own.")
app.add_typer(serve, name="serve")
# What stands between colons in an answer, such as the 100 of a list, is no name of a picture.
out = Console(emoji=False)
err = Console(stderr=True, emoji=False)

BootstrapOption = Annotated[str | None, typer.Option("--bootstrap", help="Kafka's host:port.")]
LedgerOption = Annotated[str | None, typer.Option("--ledger", help="The ledger's name.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", "-X", help="name=value of a setting; see lakeledger config show."),
]
LeaseOption = Annotated[
    float | None, typer.Option("--lease-s", min=0.5, help="How long a session may be silent.")
]
NameOption = Annotated[
    str | None,
    typer.Option("--ledger", envvar="LAKELEDGER_LEDGER", help="The ledger; by default the one up."),
]
# As it was given: what is made a path has forgotten that it was empty.
HomeOption = Annotated[
    str | None,
    typer.Option(
        metavar="<path>",
        envvar="LAKELEDGER_HOME",
        help="Where ledgers of this machine keep their data.",
    ),
]
TxnArgument = Annotated[int, typer.Argument(metavar="TXN", min=0, max=NUMBER_MAX)]
WithParentOption = Annotated[
    bool, typer.Option("--with-parent", help="End when standard input ends.", hidden=True)
]


class Output(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to write the answer.")]


def tell_version(*, wanted: bool) -> None:
    """Say which version is installed, if that is asked for, and end."""
    if wanted:
        print(f"{DISTRIBUTION} {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def root(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Log more, show tracebacks.")] = False,
    is_version: Annotated[  # noqa: ARG001 - answered before any command is looked for
        bool,
        typer.Option(
            "--version",
            callback=lambda wanted: tell_version(wanted=wanted),
            is_eager=True,
            help="Say which version is installed, and end.",
        ),
    ] = False,
) -> None:
    """Set up what every command shares."""
    set_up_logging(debug=debug)
    if debug:
        os.environ["LAKELEDGER_DEBUG"] = "1"


@app.command()
def up(
    *,
    ledger: LedgerOption = None,
    home: HomeOption = None,
    bootstrap: Annotated[
        str | None,
        typer.Option(help="Use this Kafka; where none is set an embedded one is started."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Port of the embedded Kafka.")
    ] = None,
    sequencers: Annotated[int, typer.Option(min=1, help="One leads, the others stand by.")] = 2,
    caches: Annotated[int, typer.Option(min=0, help="Metadata caches, each a process.")] = 0,
    spark: Annotated[bool, typer.Option("--spark", help="Run the Spark feeder too.")] = False,
    http: Annotated[
        str | None,
        typer.Option(help="host:port to read at, or off; where none is set a free port."),
    ] = None,
    lease_s: LeaseOption = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Remove all rows and make them anew; until then there are none."
        ),
    ] = False,
) -> None:
    """Run every process of a ledger on this machine until Ctrl-C."""
    from ledger.config import load  # noqa: PLC0415 - a command loads only what it uses
    from ledger.up import UpSettings, stay_up  # noqa: PLC0415 - loads the Kafka client

    for number in (signal.SIGTERM, signal.SIGHUP):
        # Who started it with nohup wants it to outlive the terminal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    flags = {"ledger": ledger, "home": home, "bootstrap": bootstrap}
    loaded = load({**flags, "sequencer.lease_s": lease_s, "follower.http": http})
    found = loaded.settings
    settings = UpSettings(
        ledger=found.ledger,
        home=found.home,
        bootstrap=found.bootstrap,
        port=port,
        sequencers=sequencers,
        caches=caches,
        with_spark=spark,
        http=loaded.given("follower.http"),
        cache_http=loaded.given("cache.http"),
        lease_s=lease_s,
        rebuild=rebuild,
        client=found.client(),
    )
    warn_of_store(loaded, settings.folder)
    try:
        code = stay_up(settings, say)
    except KeyboardInterrupt:
        say("interrupted before the ledger was up; nothing is left running")
        code = ExitCode.INTERRUPTED
    raise typer.Exit(code)


def warn_of_store(loaded: "Loaded", folder: Path) -> None:
    """Say where a setting leads the readers of this host, if not to rows below a ledger's folder.

    Another follower may write there, so that is no error.
    """
    store = loaded.given("store")
    if store is not None and not store.absolute().is_relative_to(folder):
        say(
            f"warning: store is {store} ({loaded.origins['store']}), so SDK and commands look for "
            f"rows there, while lakeledger up keeps them below {folder}. Leave that setting out "
            "where these are to be read"
        )


@app.command()
def init(
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    replication: Annotated[
        int, typer.Option(min=1, max=COPIES_MAX, help="Copies of each topic.")
    ] = 3,
) -> None:
    """Create the topics of a ledger on a Kafka cluster, or verify those that are there."""
    from ledger.config import load  # noqa: PLC0415
    from ledger.log.topics import create_topics, verify_topics  # noqa: PLC0415

    loaded = load({"bootstrap": bootstrap, "ledger": ledger})
    kafka, name = loaded.required("bootstrap"), loaded.settings.ledger
    client = loaded.settings.client()
    create_topics(kafka, name, replication=replication, client=client)
    for warning in verify_topics(kafka, name, client=client):
        say(f"warning: {warning}")
    say(f"the topics of ledger {name} are as they must be; next: lakeledger serve sequencer")


@serve.command("sequencer")
def serve_sequencer(
    bootstrap: BootstrapOption = None,
    ledger: LedgerOption = None,
    name: Annotated[str, typer.Option(help="Shown in the log.")] = f"{socket.gethostname()}",
    catalog: Annotated[str | None, typer.Option(help="First catalog of a new ledger.")] = None,
    lease_s: LeaseOption = None,
    *,
    settings: SetOption = None,
    with_parent: WithParentOption = False,
) -> None:
    """Lead the ledger, or stand by until the leader is gone."""
    from ledger.config import load  # noqa: PLC0415
    from ledger.core.state import DEFAULT_LIMITS  # noqa: PLC0415
    from ledger.log.kafka import KafkaLog  # noqa: PLC0415
    from ledger.log.topics import verify_topics  # noqa: PLC0415
    from ledger.sequencer import Sequencer  # noqa: PLC0415
    from ledger.settings import Genesis  # noqa: PLC0415

    flags = {"bootstrap": bootstrap, "ledger": ledger, "catalog": catalog}
    loaded = load({**flags, "sequencer.lease_s": lease_s}, settings or ())
    kafka, found = loaded.required("bootstrap"), loaded.settings
    client = found.client()

    def run(stop: Signal) -> None:
        with interruptible():
            verify_topics(kafka, found.ledger, client=client)
        limits = DEFAULT_LIMITS._replace(lease_ms=round(found.sequencer.lease_s * 1000))
        sequencer = Sequencer(
            KafkaLog(kafka, found.ledger, client=client, gather_s=found.sequencer.gather_s),
            Genesis(found.ledger, found.catalog, limits=limits),
            name=f"{name}/{os.getpid()}",
            settings=found.sequencer,
        )
        freeze_recovered()
        log_lines.info("standing by", name=name, position=sequencer.acceptor.head.position)
        sequencer.run(stop)

    raise typer.Exit(role_process("sequencer", run, with_parent=with_parent))


def number_option(what: str, least: int = 0) -> Any:
    """Return the option for a number as the log has them: more than 64 bits are a wrong usage."""
    return typer.Option(min=least, max=NUMBER_MAX, help=what)


def answer(fields: dict[str, Any], output: Output) -> None:
    """Write one record: as JSON, or as a table of names and values."""
    if output is Output.JSON:
        print(json.dumps(fields, sort_keys=True))
        return
    table = Table(*columns("name", "value"), show_header=False, box=None)
    for name, value in fields.items():
        table.add_row(name, Text(shown(value)))
    out.print(table)


def answer_rows(rows: list[dict[str, Any]], output: Output) -> None:
    """Write many records of one form: as a JSON list, or as a table with a header."""
    if output is Output.JSON:
        print(json.dumps(rows, sort_keys=True))
        return
    table = Table(*columns(*(rows[0] if rows else ())), box=None, header_style="bold")
    for row in rows:
        table.add_row(*(Text(shown(value)) for value in row.values()))
    out.print(table if rows else "none")


def columns(*names: str) -> list[Column]:
    """Return the columns of a table; what is too long for one goes on in its next line."""
    return [Column(name, overflow="fold") for name in names]


def shown(value: Any) -> str:
    """Return a value as a cell of a table."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(str(each) for each in value) or "-"
    return "-" if value is None or value == "" else str(value)


def say(line: str) -> None:
    """Write a line about the work to stderr."""
    err.print(line, highlight=False, markup=False, soft_wrap=True)


@cache
def whole_app() -> typer.Typer:
    """Return the root command with what every installed package adds to it."""
    for point in entry_points(group=COMMANDS):
        point.load()(app)
    return app


def main() -> None:
    """Run the command line; never ends with a traceback unless `--debug` asks for it."""
    try:
        whole_app()()
    except LedgerError as error:
        end_with(exit_code(error), error)
    except Exception as error:  # noqa: BLE001 - whoever typed a command is told in a sentence
        end_with(ExitCode.FAILED, error)


def end_with(code: ExitCode, error: Exception) -> NoReturn:
    """Say what went wrong, with `--debug` also where, and end with a code."""
    if "LAKELEDGER_DEBUG" in os.environ:
        traceback.print_exception(error)
    else:
        err.print(f"[bold red]{type(error).__name__}[/]:", Text(str(error)), soft_wrap=True)
    sys.exit(code)
