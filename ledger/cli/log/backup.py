"""Commands that copy a log out of its cluster, and make a log from the copy."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from threading import Event as Signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, progress_bar, say
from ledger.cli.options import BootstrapOption, HomeOption, NameOption
from ledger.machine.process import ExitCode, heed_signals

if TYPE_CHECKING:
    from ledger.backup.manifest import Manifest
    from ledger.config.config import Loaded

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="A folder, or s3://bucket/prefix.")
]


def backup(
    path: PathArgument,
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """Copy the events that are not in the backup yet; the ledger may run meanwhile."""
    from ledger.backup.cluster import topics_noted  # noqa: PLC0415
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.backup.taking import take  # noqa: PLC0415
    from ledger.config.search import client_for, find_address, log_of  # noqa: PLC0415 - a command loads only what it uses

    place, stop = open_place(path), Signal()
    address = find_address(bootstrap, ledger)
    topics = topics_noted(address.bootstrap, address.ledger, client_for(address))
    with closing(log_of(address)) as log, progress_bar("backup", transient=True) as progress:
        heed_signals(stop)
        taken = take(log, place, topics, stop=stop, progress=progress)
    fields = {"new_records": taken.new_records, "whole": taken.is_whole}
    answer({**fields_of(taken.manifest), **fields, "path": place.path}, output)
    if not taken.is_whole:
        say("stopped; the backup is whole up to that position, and the next run goes on from there")
        raise typer.Exit(ExitCode.INTERRUPTED)


def restore(
    path: PathArgument,
    bootstrap: Annotated[
        str | None,
        typer.Option(help="Kafka's host:port; by default the embedded one of this machine."),
    ] = None,
    home: HomeOption = None,
    replication: Annotated[
        int | None,
        typer.Option(min=1, help="Copies of each topic.", show_default="as many as there were"),
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read all of the backup, change nothing.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make the topics of a ledger from a backup, in a cluster without a ledger of that name."""
    from ledger.backup.cluster import replicas_noted, restore_into  # noqa: PLC0415
    from ledger.backup.contents import manifest_in  # noqa: PLC0415
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.config.config import load  # noqa: PLC0415

    place, stop = open_place(path), Signal()
    manifest = manifest_in(place)
    loaded = load({"bootstrap": bootstrap, "home": home})
    # Reading a backup needs no broker, and a dry run must not make a broker's folder.
    is_alone = dry_run and loaded.settings.bootstrap is None
    unused = nullcontext((None, loaded.settings.client()))
    with unused if is_alone else cluster(loaded, manifest.name) as (kafka, client):
        copies = replication or (1 if loaded.settings.bootstrap is None else 0)
        with progress_bar("restore", transient=True) as progress:
            heed_signals(stop)
            outcome = restore_into(
                kafka,
                place,
                manifest,
                replication=copies or replicas_noted(manifest),
                stop=stop,
                client=client,
                is_dry=dry_run,
                progress=progress,
            )
    fields = {"written": outcome.written, "restored": outcome.is_whole}
    answer({**fields_of(manifest), **fields, "path": place.path}, output)
    if stop.is_set() and not outcome.is_whole:
        say("stopped; the same command goes on where it was")
        raise typer.Exit(ExitCode.INTERRUPTED)
    say(next_step(manifest, loaded, is_dry=dry_run))


@contextmanager
def cluster(loaded: "Loaded", ledger: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the Kafka to restore into, and the settings of its client.

    The embedded one runs meanwhile.
    """
    from ledger.machine.folder import alone_in  # noqa: PLC0415
    from ledger.machine.up import check, made_folder, start_broker  # noqa: PLC0415
    from ledger.machine.up_settings import UpSettings, administered  # noqa: PLC0415

    found = loaded.settings
    if found.bootstrap is not None:
        yield found.bootstrap, found.client()
        return
    settings = UpSettings(ledger=ledger, home=found.home, client=found.client())
    check(settings)
    with alone_in(made_folder(settings.folder)):
        broker = start_broker(settings, say)
        assert broker is not None, "no other Kafka is set"
        try:
            yield administered(settings, broker)
        finally:
            broker.stop()


def fields_of(manifest: "Manifest") -> dict[str, Any]:
    """Return the fields of a backup for output."""
    reached = manifest.reached
    return {
        "ledger": manifest.name,
        "id": manifest.ledger,
        "position": reached.head.position,
        "chain": reached.head.chain.hex(),
        "records": reached.records,
        "digest": reached.digest.hex(),
        "files": len(manifest.files),
        "bytes": sum(file.size for file in manifest.files),
    }


def next_step(manifest: "Manifest", loaded: "Loaded", *, is_dry: bool) -> str:
    """Return the next step after a restore."""
    from ledger.machine.folder import STORE  # noqa: PLC0415
    from ledger.machine.up_settings import UpSettings  # noqa: PLC0415

    position = manifest.reached.head.position
    if is_dry:
        return f"the backup is whole up to position {position}; nothing was changed"
    kafka = loaded.settings.bootstrap
    folder = UpSettings(ledger=manifest.name, home=loaded.settings.home).folder
    where = "" if kafka is None else f" --bootstrap {kafka}"
    # Rows of this host belong to the topic before the restore.
    anew = " --rebuild" if (folder / STORE).exists() else ""
    return (
        f"ledger {manifest.name} is restored up to position {position}. Later commits are not in "
        f"the backup. Next: lakeledger up{where} --ledger {manifest.name}{anew}"
    )
