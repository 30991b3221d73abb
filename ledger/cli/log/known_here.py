"""What this host knows of a ledger: the places that a search for forgotten rows looks through."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ledger.errors import LedgerError

if TYPE_CHECKING:
    from ledger.config.address import Address
    from ledger.forgetting.held_places import RowsHere, Surroundings


class StoreHere(NamedTuple):
    """A store that a process of this host may have: its role, its name, its folder and its form."""

    role: str
    name: str
    folder: Path
    form: int


def check_backups(paths: Sequence[str], ledger: str) -> None:
    """Raise BackupError for a path that holds no backup of the ledger with an id."""
    from ledger.backup.contents import manifest_of_ledger  # noqa: PLC0415 - only for a command
    from ledger.backup.place import open_place  # noqa: PLC0415

    for path in paths:
        manifest_of_ledger(open_place(path), ledger)


def surroundings(log: Any, address: "Address", backups: Sequence[str]) -> "Surroundings":
    """Return what this host knows of the ledger."""
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.config.settings import OFF  # noqa: PLC0415
    from ledger.forgetting.held_places import Surroundings  # noqa: PLC0415
    from ledger.log.trimmed import read_trim_mark  # noqa: PLC0415
    from ledger.machine.folder import BROKER, folders_aside  # noqa: PLC0415
    from ledger.machine.room import places_of  # noqa: PLC0415

    settings, last, mark = load().settings, places_of(address).last_backup(), None
    with suppress(LedgerError):  # The search of backups reads the mark too, and tells the error.
        mark = read_trim_mark(log)
    archive = "" if settings.log.archive == OFF else settings.log.archive
    paths = [*backups, archive, "" if last is None else last.path]
    paths.append("" if mark is None else mark.archive)
    folder = None if address.store is None else address.store.parent
    return Surroundings(
        log,
        address.ledger,
        [path for path in paths if path],
        list(stores_of(address)),
        None if folder is None else folder / BROKER / "log",
        settings.publisher.retention_h,
        asides=[] if folder is None else folders_aside(folder),
        keep_days=settings.log.keep_days,
    )


def stores_of(address: "Address") -> "Iterator[RowsHere]":
    """Yield the stores of rows on this host, each with its rows as they are then."""
    from ledger.forgetting.held_places import RowsHere  # noqa: PLC0415

    for each in folders_here(address):
        if each.folder.is_dir():
            yield RowsHere(each.role, each.name, each.folder, partial(rows_in, each))


def rows_in(store: StoreHere) -> Iterator[tuple[bytes, bytes]]:
    """Yield all rows of a store; raises StoreError if it cannot be read."""
    from projections.store.port import KEYS_END  # noqa: PLC0415
    from projections.store.rocks_reader import RocksReader  # noqa: PLC0415

    with RocksReader.open(store.folder, version=store.form) as reader:
        yield from reader.scan(b"", KEYS_END)


def folders_here(address: "Address") -> Iterator[StoreHere]:
    """Yield where processes of this host keep rows, under the names by which they register."""
    from ledger.backup.images.manifest import PUBLICATION, ROWS  # noqa: PLC0415
    from ledger.cli.log.images import stores_here  # noqa: PLC0415
    from ledger.machine.folder import SPARK, SPARK_CHECKPOINTS, SPARK_ROWS  # noqa: PLC0415
    from projections.fold.registering import name_of  # noqa: PLC0415
    from projections.images.stored import FORMATS  # noqa: PLC0415

    found = stores_here(address)
    for section, root in found.items():
        feeder = root.parent
        if section == PUBLICATION:
            yield StoreHere("publisher", name_of(root), root, FORMATS[section])
        elif root.name == SPARK_ROWS and (feeder / SPARK_CHECKPOINTS).is_dir():
            # A feeder is named after the folder of its rows and Spark's checkpoints.
            yield StoreHere("feeder", name_of(feeder), root, FORMATS[section])
        else:
            yield StoreHere("follower", name_of(root), root, FORMATS[section])
    if (rows := found.get(ROWS)) is not None:
        feeder = rows.parent / SPARK
        yield StoreHere("feeder", name_of(feeder), feeder / SPARK_ROWS, FORMATS[ROWS])
    yield from notifiers_here(None if rows is None else rows.parent)


def notifiers_here(folder: Path | None) -> Iterator[StoreHere]:
    """Yield the places of a notifier: the configured one, else that in the folder of a ledger."""
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.machine.up import NOTIFIER  # noqa: PLC0415
    from projections.fold.registering import name_of  # noqa: PLC0415
    from projections.notifier.delivery import FORMAT  # noqa: PLC0415
    from projections.notifier.notifier import LINEAGE, TOPIC, WEBHOOK  # noqa: PLC0415

    state = load().settings.notifier.store
    if state is None and folder is not None:
        state = folder / NOTIFIER
    if state is None:
        return
    for receiver in (WEBHOOK, TOPIC, LINEAGE):
        place = state.expanduser() / receiver
        yield StoreHere("notifier", f"{receiver}-{name_of(place)}", place, FORMAT)
