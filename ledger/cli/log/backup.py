"""Commands that copy a log out of its cluster, and make a log from the copy."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from threading import Event as Signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, progress_bar, say
from ledger.cli.options import BootstrapOption, HomeOption, NameOption
from ledger.errors import BrokerDamagedError, LedgerError, SettingsError
from ledger.machine.process import ExitCode, heed_signals

if TYPE_CHECKING:
    from ledger.backup.manifest import Manifest
    from ledger.backup.place import BackupPlace
    from ledger.backup.restoring import RestoreOutcome
    from ledger.backup.taking import Taken
    from ledger.config.address import Address
    from ledger.config.config import Loaded

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="A folder, or s3://bucket/prefix.")
]


def backup(
    path: PathArgument,
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    *,
    image: Annotated[
        bool, typer.Option("--image/--no-image", help="Take an image of the rows of this host too.")
    ] = True,
    publication: Annotated[
        bool,
        typer.Option(
            "--publication/--no-publication",
            help="With the rows of a publisher in the image; without, former ones go too.",
        ),
    ] = True,
    verify: Annotated[
        bool, typer.Option("--verify", help="Take nothing: read all of the backup, and compare it.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Copy the events that are not in the backup yet; the ledger may run meanwhile."""
    if verify:
        verify_backup(path, output)
        return
    from ledger.backup.cluster import topics_noted  # noqa: PLC0415
    from ledger.backup.contents import manifest_in  # noqa: PLC0415
    from ledger.backup.images.manifest import PUBLICATION  # noqa: PLC0415
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.backup.taking import take  # noqa: PLC0415
    from ledger.cli.log.images import fields_of_image, take_beside  # noqa: PLC0415
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.config.search import client_for, find_address, log_of  # noqa: PLC0415 - a command loads only what it uses

    place, stop = open_place(path), Signal()
    address = find_address(bootstrap, ledger)
    archive = load().settings.log.archive
    topics = topics_noted(address.bootstrap, address.ledger, client_for(address))
    fields: dict[str, Any] = {}
    with closing(log_of(address)) as log:

        def take_on() -> "Taken":
            with progress_bar("backup", transient=True) as progress:
                taken = take(log, place, topics, stop=stop, progress=progress, archive=archive)
            note_backup(address, place.path, taken.manifest.reached.head.position)
            return taken

        heed_signals(stop)
        taken = take_on()
        is_whole, new_records = taken.is_whole, taken.new_records
        if is_whole and image:
            without = () if publication else (PUBLICATION,)
            imaged = take_beside(
                place, address, taken.manifest, take_on, stop=stop, without=without
            )
            is_whole, fields = imaged.is_whole, fields_of_image(imaged)
    fields = {"new_records": new_records, "whole": is_whole, **fields, **keys_needed(address)}
    answer({**fields_of(manifest_in(place)), **fields, "path": place.path}, output)
    if not is_whole:
        say("stopped; the backup is whole up to that position, and the next run goes on from there")
        raise typer.Exit(ExitCode.INTERRUPTED)


def keys_needed(address: "Address") -> dict[str, Any]:
    """Say which keys the copied rows need, as far as the rows of this host tell it.

    Return them as fields for output, none if no key is needed.
    """
    from ledger.config.search import keys_folder  # noqa: PLC0415
    from ledger.definitions.client_reads import open_rows  # noqa: PLC0415

    folder = keys_folder(address)
    if folder is None or address.store is None:
        return {}
    from ledger.cli.tables.keys import needs_of_backup  # noqa: PLC0415 - loads the client
    from ledger.keys.folder import KeyFolder  # noqa: PLC0415

    try:
        with closing(open_rows(address)) as reads:
            needed, told = needs_of_backup(reads, KeyFolder(folder, reads.identity().ledger))
    except LedgerError as problem:
        needed, told = {}, f"warning: which keys the backup needs is not known: {problem}"
    if told:
        say(told)
    return {"keys_needed": needed} if needed else {}


def verify_backup(path: str, output: Output) -> None:
    """Read all events and images of a backup, and answer what it holds.

    Raises BackupDamagedError at the first file that differs from what was written, and
    ImageForeignError for an image that does not belong to the events.
    """
    from ledger.backup.contents import manifest_in  # noqa: PLC0415
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.backup.restoring import check_backup  # noqa: PLC0415
    from ledger.cli.log.images import images_verified  # noqa: PLC0415

    place, stop = open_place(path), Signal()
    manifest = manifest_in(place)
    heed_signals(stop)
    with progress_bar("events", transient=True) as progress:
        is_whole = check_backup(place, manifest, stop, progress)
    images = images_verified(place, stop) if is_whole else []
    if stop.is_set():
        say("stopped before all of the backup was read; nothing that was read differs")
        raise typer.Exit(ExitCode.INTERRUPTED)
    fields = {
        "images": [each.position for each in images],
        "image_checkpoints": [each.checkpoint for each in images],
        "verified": True,
    }
    answer({**fields_of(manifest), **fields, "path": place.path}, output)


def note_backup(address: "Address", path: str, position: int) -> None:
    """Let `lakeledger status` of this host tell the last backup; the copy itself is whole."""
    from ledger.machine.room import places_of  # noqa: PLC0415

    try:
        places_of(address).note_backup(path, position)
    except OSError as problem:
        say(f"warning: lakeledger status will not know of this backup: {problem}")


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
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Move the data of this machine's embedded Kafka aside if they are in the way.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read all of the backup, change nothing.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make the topics of a ledger from a backup, in a cluster without a ledger of that name."""
    from ledger.backup.contents import manifest_in  # noqa: PLC0415
    from ledger.backup.errors import RestoreRefusedError  # noqa: PLC0415
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.config.config import load  # noqa: PLC0415

    place, stop = open_place(path), Signal()
    manifest = manifest_in(place)
    loaded = load({"bootstrap": bootstrap, "home": home})
    if replace and (kafka := loaded.settings.bootstrap) is not None:
        raise SettingsError(
            "--replace is for the embedded Kafka of this machine, and bootstrap must not be set, "
            f"got {kafka}; delete the topics of ledger {manifest.name} there instead"
        )
    run = partial(restored, place, manifest, loaded, stop, replication or 0, is_dry=dry_run)
    try:
        outcome = run()
    except (RestoreRefusedError, BrokerDamagedError):
        if not replace or not make_way(place, manifest, loaded, stop):
            raise
        outcome = run()
    fields = {"written": outcome.written, "restored": outcome.is_whole}
    answer({**fields_of(manifest), **fields, "path": place.path}, output)
    if stop.is_set() and not outcome.is_whole:
        say("stopped; the same command goes on where it was")
        raise typer.Exit(ExitCode.INTERRUPTED)
    say(next_step(manifest, loaded, is_dry=dry_run))


def restored(
    place: "BackupPlace",
    manifest: "Manifest",
    loaded: "Loaded",
    stop: Signal,
    replication: int,
    *,
    is_dry: bool,
) -> "RestoreOutcome":
    """Restore a backup into the cluster of the settings; raises as `restore_into`."""
    from ledger.backup.cluster import replicas_noted, restore_into  # noqa: PLC0415

    # Reading a backup needs no broker, and a dry run must not make a broker's folder.
    is_alone = is_dry and loaded.settings.bootstrap is None
    unused = nullcontext((None, loaded.settings.client()))
    with unused if is_alone else cluster(loaded, manifest.name) as (kafka, client):
        copies = replication or (1 if loaded.settings.bootstrap is None else 0)
        with progress_bar("restore", transient=True) as progress:
            heed_signals(stop)
            return restore_into(
                kafka,
                place,
                manifest,
                replication=copies or replicas_noted(manifest),
                stop=stop,
                client=client,
                is_dry=is_dry,
                progress=progress,
            )


def make_way(place: "BackupPlace", manifest: "Manifest", loaded: "Loaded", stop: Signal) -> bool:
    """Set the data of the embedded Kafka aside for a backup that is whole; return whether it was.

    Raises as `check_backup`, and then nothing was changed.
    """
    from ledger.backup.restoring import check_backup  # noqa: PLC0415
    from ledger.machine.folder import alone_in, set_broker_aside  # noqa: PLC0415
    from ledger.machine.up_settings import UpSettings  # noqa: PLC0415

    if not check_backup(place, manifest, stop):
        return False
    folder = UpSettings(ledger=manifest.name, home=loaded.settings.home).folder
    with alone_in(folder):
        kept = set_broker_aside(folder)
    say(
        f"the data that were in the way lie in {kept}; delete them once the ledger is as it must be"
    )
    return True


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
        f"the backup. Next: lakeledger up{where} --ledger {manifest.name}{anew}. Encrypted "
        "rows need their folder of keys, which is in no backup: lakeledger table keys list then "
        "names the tables and months whose keys are missing"
    )
