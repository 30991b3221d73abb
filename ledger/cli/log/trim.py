"""Commands that take old events from the log, and that keep them there."""

import re
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ledger.cli.answers import Output, OutputOption, answer, progress_bar
from ledger.cli.options import BootstrapOption, NameOption, YesOption, confirm, number_option
from ledger.clock import SystemClock
from ledger.errors import SettingsError
from ledger.reads.amounts import amount

if TYPE_CHECKING:
    from ledger.config.address import Address
    from ledger.log.port import Log
    from ledger.log.trimmed import TrimMark
    from ledger.trimming.survey import TrimPlan

AGE: Final = re.compile(r"([1-9][0-9]{0,8})\s*([smhd])")
UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

BackupOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="The backup with the events and an image; by default log.archive, else the last one "
        "of this host.",
    ),
]


def log_trim(
    *,
    below: Annotated[
        int | None, number_option("Take all events below this position from the log.")
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Take the events that are older, such as 30d or 12h."),
    ] = None,
    backup: BackupOption = None,
    reason: Annotated[str, typer.Option(help="Why, kept in the log.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Verify everything, change nothing.")
    ] = False,
    yes: YesOption = False,
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take old events from the log; a backup holds them, and rows to begin with.

    Nothing is taken while a process that follows the log, an open txn or a pin needs the events, or
    before backup and image are read and compared with the log. Rows, history and changes of tables
    stay readable.
    """
    from ledger.config.search import find_address, log_of  # noqa: PLC0415 - a command loads what it uses

    if (below is None) is (older_than is None):
        raise SettingsError("give either --below with a position or --older-than with an age")
    address = find_address(bootstrap, ledger)
    with closing(log_of(address)) as log:
        plan = planned(log, address, below, older_than, backup)
        if dry_run:
            answer({**fields_of(plan.mark, plan), "trimmed": False}, output)
            return
        kept = plan.mark.below
        text = f"take {amount(plan.records, 'record')} below position {kept} from the log"
        confirm(text, yes=yes)
        mark = carried_out(log, address, plan, reason)
    answer({**fields_of(mark, plan), "trimmed": True}, output)


def planned(
    log: "Log", address: "Address", below: int | None, older_than: str | None, backup: str | None
) -> "TrimPlan":
    """Return the trim that was asked for; raises TrimRefusedError."""
    from ledger.backup.place import open_place  # noqa: PLC0415
    from ledger.trimming.survey import plan, position_before  # noqa: PLC0415

    place = open_place(backup or place_of(address))
    with progress_bar("comparing log, backup and image", transient=True) as progress:
        if below is None:
            age_ms = duration_ms(older_than or "")
            below = position_before(log, SystemClock().now_ms() - age_ms)
        return plan(log, place, below, progress)


def duration_ms(text: str) -> int:
    """Return the milliseconds of an age such as 30d or 12h; raises SettingsError for others."""
    found = AGE.fullmatch(text.strip().lower())
    if found is None:
        raise SettingsError(
            f"an age must be a number of days, hours, minutes or seconds, such as 30d, got {text!r}"
        )
    return int(found[1]) * UNITS_MS[found[2]]


def place_of(address: "Address") -> str:
    """Return the place of the backup that a trim relies on; raises SettingsError without one."""
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.machine.room import places_of  # noqa: PLC0415
    from ledger.trimming.look import archive_of  # noqa: PLC0415

    found = archive_of(load().settings.log.archive, None, places_of(address))
    if found is None:
        raise SettingsError(
            "a trim needs a backup with the events and an image of rows: take one with lakeledger "
            "backup PATH, or name it with --backup or the setting log.archive"
        )
    return found


def carried_out(log: "Log", address: "Address", plan: "TrimPlan", reason: str) -> "TrimMark":
    """Trim the log as planned."""
    from ledger.client import Ledger  # noqa: PLC0415
    from ledger.trimming.trimming import carry_out  # noqa: PLC0415

    with Ledger.connect(
        address.bootstrap, address.ledger, application="lakeledger log trim"
    ) as client:
        return carry_out(client, log, plan, remover(address), reason)


def remover(address: "Address") -> Any:
    """Return what removes the records of the events topic below an offset."""
    from ledger.config.search import client_for  # noqa: PLC0415
    from ledger.log.kafka.admin import KafkaAdmin  # noqa: PLC0415
    from ledger.log.kafka.topics import ANSWER_S  # noqa: PLC0415
    from ledger.log.port import Topic  # noqa: PLC0415

    def remove(offset: int) -> None:
        admin = KafkaAdmin(address.bootstrap, client_for(address), ANSWER_S)
        admin.remove_below(address.ledger, Topic.EVENTS, offset)

    return remove


def fields_of(mark: "TrimMark", plan: "TrimPlan") -> dict[str, Any]:
    """Return what a trim does, as fields."""
    return {
        "below": mark.below,
        "records": plan.records,
        "archive": mark.archive,
        "image": mark.image,
        "digest": plan.digest.hex(),
        "position": mark.position or None,
    }


def log_pin(
    name: Annotated[str, typer.Argument(help="The name of the pin.")],
    *,
    position: Annotated[int, number_option("Keep the events from this position on.")],
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Keep events in the log, whatever is trimmed, until the pin is removed."""
    from ledger.config.search import find_address, log_of  # noqa: PLC0415
    from ledger.log.consumers import pin  # noqa: PLC0415

    with closing(log_of(find_address(bootstrap, ledger))) as log:
        pin(log, name, position, SystemClock().now_ms())
    answer({"pin": name, "position": position}, output)


def log_unpin(
    name: Annotated[str, typer.Argument(help="The name of the pin.")],
    *,
    bootstrap: BootstrapOption = None,
    ledger: NameOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Remove a pin, so that a trim may take the events that it kept."""
    from ledger.config.search import find_address, log_of  # noqa: PLC0415
    from ledger.log.consumers import unpin  # noqa: PLC0415

    with closing(log_of(find_address(bootstrap, ledger))) as log:
        unpin(log, name)
    answer({"pin": name, "removed": True}, output)
