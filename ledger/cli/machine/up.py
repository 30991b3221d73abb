"""The command that brings a ledger up: every process of it on this machine."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import FailureOption, Output, say
from ledger.cli.options import BeginAnewOption, FlushOption, HomeOption, LeaseOption, LedgerOption
from ledger.machine.exit_codes import ExitCode

if TYPE_CHECKING:
    from ledger.config.config import Loaded


KafkaOption = Annotated[
    str | None, typer.Option(help="Use this Kafka; by default an embedded one is started.")
]
PortOption = Annotated[
    int | None, typer.Option(min=1, max=65_535, help="Port of the embedded Kafka.")
]
PublishOption = Annotated[
    bool, typer.Option("--publish", help="Run the publisher of Delta logs too.")
]
IcebergOption = Annotated[
    bool, typer.Option("--iceberg", help="Run a REST catalog for clients of Apache Iceberg too.")
]
SecureOption = Annotated[
    bool,
    typer.Option(
        "--secure", help="Logins, rights, tokens and TLS for everything; a ledger stays secured."
    ),
]
IngestOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--ingest", metavar="MAPPING", help="Bring records of topics into tables; several times."
    ),
]
HttpOption = Annotated[
    str | None,
    typer.Option(help="host:port to read at, or off; by default a free port, which is kept."),
]
RebuildOption = Annotated[
    bool,
    typer.Option(
        "--rebuild", help="Set all rows aside and make them anew; reads find none meanwhile."
    ),
]


def up(
    *,
    ledger: LedgerOption = None,
    home: HomeOption = None,
    bootstrap: KafkaOption = None,
    port: PortOption = None,
    sequencers: Annotated[int, typer.Option(min=1, help="One leads, the rest stand by.")] = 2,
    caches: Annotated[int, typer.Option(min=0, help="Metadata caches, each a process.")] = 0,
    publish: PublishOption = False,
    iceberg: IcebergOption = False,
    ingest: IngestOption = None,
    spark: Annotated[bool, typer.Option("--spark", help="Run the Spark feeder too.")] = False,
    http: HttpOption = None,
    lease_s: LeaseOption = None,
    flush: FlushOption = True,
    begin_anew: BeginAnewOption = False,
    secure: SecureOption = False,
    rebuild: RebuildOption = False,
    output: FailureOption = Output.TABLE,  # noqa: ARG001 - `main` reports the failure
) -> None:
    """Run every process of a ledger on this machine until Ctrl-C."""
    from ledger.config.config import load  # noqa: PLC0415 - a command loads only what it uses
    from ledger.machine.staying_up import stay_up  # noqa: PLC0415 - loads the Kafka client
    from ledger.machine.up_settings import UpSettings  # noqa: PLC0415

    take_signals()
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
        with_publisher=publish,
        with_iceberg=iceberg,
        with_spark=spark,
        http=loaded.given("follower.http"),
        warehouse=found.warehouse,
        notifier=found.notifier,
        log=found.log,
        ingests=ingests_in(ingest or ()),
        lease_s=lease_s,
        rebuild=rebuild,
        flush=flush,
        begin_anew=begin_anew,
        secure=secure,
        hosts=found.follower.hosts,
        client=found.client(),
        **addresses(loaded),
    )
    warn_of_store(loaded, settings.folder)
    try:
        code = stay_up(settings, say)
    except KeyboardInterrupt:
        say("interrupted before the ledger was up; nothing is left running")
        code = ExitCode.INTERRUPTED
    raise typer.Exit(code)


def ingests_in(mappings: Sequence[Path]) -> dict[Path, Sequence[str]]:
    """Return the topics of each mapping that are in the Kafka of the ledger."""
    found: dict[Path, Sequence[str]] = {}
    for path in mappings:
        from ledger.ingest.mapping import read_mapping  # noqa: PLC0415 - only with an ingest

        plan = read_mapping(path)
        is_own = plan.source.brokers is None
        found[path.absolute()] = [each.topic for each in plan.topics] if is_own else []
    return found


def addresses(loaded: "Loaded") -> dict[str, Any]:
    """Return where roles besides the follower are to answer HTTP, None for any free port."""
    roles = ("cache", "publisher", "iceberg", "notifier", "ingest")
    return {f"{role}_http": loaded.given(f"{role}.http") for role in roles}


def take_signals() -> None:
    """Let SIGTERM and the end of the terminal stop the ledger as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Started with nohup, the ledger must outlive the terminal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def warn_of_store(loaded: "Loaded", folder: Path) -> None:
    """Warn of a setting that leads this host's readers to other rows than the ledger's.

    It is not an error: another follower may write those rows.
    """
    store = loaded.given("store")
    if store is not None and not store.absolute().is_relative_to(folder):
        say(
            f"warning: store is {store} ({loaded.origins['store']}), so SDK and commands read rows "
            f"there, while lakeledger up keeps its rows below {folder}. Leave that setting out to "
            "read the rows of lakeledger up"
        )
