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
        help="The place of backups; by default that of the last backup of this host.",
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
    from ledger.config.search import find_address, log_of  # noqa: PLC0415 - a command loads what it uses
    from ledger.machine.growth import growth, least_days_left, rows_held  # noqa: PLC0415
    from ledger.machine.room import places_of  # noqa: PLC0415

    address = find_address(bootstrap, ledger)
    with closing(log_of(address)) as log:
        topics, rows = list(topics_held(log, address)), list(rows_held(address.store))
        events = next(each for each in topics if each.what == "topic events")
        added = growth(log, SystemClock().now_ms(), events, rows)
    last = places_of(address).last_backup()
    held = [*topics, *rows, *backup_held(backup or (None if last is None else last.path))]
    left = least_days_left(added, places_of(address).disks())
    if output is Output.JSON:
        fields = {"held": [each._asdict() for each in held], "a_day": added._asdict()}
        answer({"ledger": address.ledger, **fields, "days_left": left}, output)
        return
    answer_rows([shown(each) for each in held], output)
    say(day_text(added, left))


def topics_held(log: "Log", address: "Address") -> Iterator["HeldBytes"]:
    """Yield what each topic of a ledger holds."""
    from ledger.log.port import Topic  # noqa: PLC0415
    from ledger.machine.growth import topic_folder, topic_held  # noqa: PLC0415

    for topic in Topic:
        folder = topic_folder(address.ledger, topic, address.store)
        if (held := topic_held(log, topic, folder)) is not None:
            yield held


def backup_held(path: str | None) -> Iterator["HeldBytes"]:
    """Yield what a backup holds: its events, and its images of rows."""
    from ledger.backup.manifest import read_manifest  # noqa: PLC0415
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.machine.growth import HeldBytes  # noqa: PLC0415

    if path is None:
        return
    with suppress(LedgerError):
        manifest = read_manifest(open_place(path))
        if manifest is not None:
            size, records = sum(each.size for each in manifest.files), manifest.reached.records
            yield HeldBytes(f"archive in {path}", size, records)


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
    text = (
        f"a day adds about {added.events} events, {shown_size(added.log_bytes)} of log and "
        f"{shown_size(added.row_bytes)} of rows"
    )
    if left is None:
        return text
    return f"{text}: the disk lasts for {'less than a day' if left < 1 else f'{left:.0f} days'}"
