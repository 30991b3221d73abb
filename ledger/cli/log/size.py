"""The command that says what a ledger holds, what a day adds, and when the disk is full."""

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, answer_rows, say
from ledger.cli.options import BootstrapOption, NameOption
from ledger.clock import SystemClock, time_text
from ledger.errors import LedgerError
from ledger.reads.amounts import shown_size

if TYPE_CHECKING:
    from ledger.config.address import Address
    from ledger.log.port import Log
    from ledger.machine.growth import Growth, HeldBytes

BackupOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="The place of backups; by default log.archive, the last backup of this host, or "
        "that of the last trim.",
    ),
]


def log_size(
    *,
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    backup: BackupOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what topics, rows and backups hold, what a day adds, and when the disk is full."""
    from ledger.backup.contents import manifest_in  # noqa: PLC0415 - a command loads what it uses
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.config.search import find_address, log_of  # noqa: PLC0415
    from ledger.machine.growth import asides_held, growth, least_days_left, rows_held  # noqa: PLC0415
    from ledger.machine.room import places_of  # noqa: PLC0415

    if backup is not None:
        manifest_in(open_place(backup))
    address, added = find_address(bootstrap, ledger), None
    with closing(log_of(address)) as log:
        topics = list(topics_held(log, address))
        rows = list(rows_held(address.store, load().settings))
        events = next((each for each in topics if each.what == "topic events"), None)
        if events is not None:
            added = growth(log, SystemClock().now_ms(), events, rows)
        archive = backup or known_archive(log, address)
    held = [*topics, *rows, *asides_held(address.store), *backup_held(archive)]
    left = None if added is None else least_days_left(added, places_of(address).disks())
    if output is Output.JSON:
        fields: dict[str, Any] = {"held": [each._asdict() for each in held], "a_day": None}
        if added is not None and added.is_known:
            fields["a_day"] = added._asdict()
        answer({"ledger": address.ledger, **fields, "days_left": left}, output)
        return
    answer_rows([shown(each) for each in held], output)
    say("the events may not be read by this user" if added is None else day_text(added, left))


def topics_held(log: "Log", address: "Address") -> Iterator["HeldBytes"]:
    """Yield what each topic of a ledger holds."""
    from ledger.log.port import Topic  # noqa: PLC0415
    from ledger.machine.growth import topic_folder, topic_held  # noqa: PLC0415

    for topic in Topic:
        folder = topic_folder(address.ledger, topic, address.store)
        if (held := topic_held(log, topic, folder)) is not None:
            yield held


def known_archive(log: "Log", address: "Address") -> str | None:
    """Return the backup that is known here: as a trim would find it, else as the last one did."""
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.log.trimmed import read_trim_mark  # noqa: PLC0415
    from ledger.machine.room import places_of  # noqa: PLC0415
    from ledger.trimming.look import archive_of  # noqa: PLC0415

    mark = None
    with suppress(LedgerError):
        mark = read_trim_mark(log)
    return archive_of(load().settings.log.archive, mark, places_of(address))


def backup_held(path: str | None) -> Iterator["HeldBytes"]:
    """Yield what a backup holds: its events, and its images of rows; say why if that is unknown."""
    from ledger.backup.contents import manifest_in  # noqa: PLC0415
    from ledger.backup.images.manifest import image_names, read_image  # noqa: PLC0415
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.machine.growth import HeldBytes  # noqa: PLC0415

    if path is None:
        return
    try:
        place = open_place(path)
        manifest = manifest_in(place)
        size, records = sum(each.size for each in manifest.files), manifest.reached.records
        yield HeldBytes(f"archive in {place.path}", size, records)
        # Images share the files of rows that did not change between them.
        files = {
            file.name: file.size
            for name in image_names(place)
            for section in read_image(place, name).sections.values()
            for file in (*section.files, section.checkpoint.file)
        }
        if files:
            yield HeldBytes(f"images in {place.path}", sum(files.values()))
    except LedgerError as problem:
        say(f"what the backup holds is not known: {problem}")


def shown(held: "HeldBytes") -> dict[str, Any]:
    """Return what a place holds as a row of the answer."""
    return {
        "what": held.what,
        "bytes": f"{'' if held.is_measured else 'about '}{shown_size(held.bytes)}",
        "records": held.records,
        "since": None if held.oldest is None else time_text(held.oldest),
    }


def day_text(added: "Growth", left: float | None) -> str:
    """Return what a day adds, and for how long the disk lasts, in words."""
    if not added.is_known:
        return "what a day adds is not known yet: the log has less than an hour of history"
    text = (
        f"a day adds about {added.events} events, {shown_size(added.log_bytes)} of log and "
        f"{shown_size(added.row_bytes)} of rows"
    )
    if left is None:
        return text
    return f"{text}: the disk lasts for {'less than a day' if left < 1 else f'{left:.0f} days'}"
