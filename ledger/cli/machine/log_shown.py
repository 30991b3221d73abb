"""What `lakeledger status` shows of the log: where it begins and why, and what follows it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ledger.cli.answers import Output
from ledger.cli.log.size import day_text
from ledger.clock import SystemClock
from ledger.errors import LedgerError
from ledger.reads.amounts import age_text, amount

if TYPE_CHECKING:
    from ledger.config.address import Address
    from ledger.log.port import Log
    from ledger.reads.port import Reads
    from ledger.trimming.look import LogLook


def looked_at(log: "Log", address: "Address") -> "LogLook":
    """Return how the log of a ledger is; raises as `look_at`."""
    from ledger.config.config import load  # noqa: PLC0415 - a command loads what it uses
    from ledger.machine.room import places_of  # noqa: PLC0415
    from ledger.trimming.look import Whereabouts, look_at  # noqa: PLC0415

    where = Whereabouts(address.ledger, places_of(address), load().settings.log.archive)
    return look_at(log, where, SystemClock().now_ms())


def shown(look: "LogLook", output: Output) -> Mapping[str, Any]:
    """Return a look as fields, in words for a person."""
    slowest = look.slowest
    if output is Output.JSON:
        from ledger.reads.remote.http_form import form_of  # noqa: PLC0415

        return {
            "first_position": look.first,
            "last_trim": form_of(look.trim),
            "trim_policy": form_of(look.policy),
            "image": form_of(look.image),
            "consumers": form_of(look.consumers),
            "a_day": form_of(look.a_day) if look.a_day and look.a_day.is_known else None,
            "days_left": look.days_left,
        }
    return {
        "first_position": look.first,
        "trim_policy": policy_text(look),
        "image": image_text(look),
        "slowest_consumer": None
        if slowest is None
        else f"{slowest.role} {slowest.name} on {slowest.host}, {slowest.behind} behind, heard "
        f"{age_text(slowest.age_s)} ago, of {amount(len(look.consumers or ()), 'consumer')}",
        "growth": None if look.a_day is None else day_text(look.a_day, look.days_left),
    }


def policy_text(look: "LogLook") -> str | None:
    """Return what the policy of trims did last, None without one."""
    note = look.policy
    if note is None:
        return None
    keeps = f"keeps {note.keep_days:g} days"
    if not note.why:
        return keeps
    return f"{keeps}; refused for {age_text(note.refused_s(look.at))}: {note.why}"


def image_text(look: "LogLook") -> str | None:
    """Return which image of rows is the newest, None without one on a whole log."""
    image, trim = look.image, look.trim
    if image is None:
        relied = "none that this host finds; the last trim relied on one of position"
        return None if trim is None else f"{relied} {trim.image}"
    if image.problem:
        return image.problem
    lacks = f"; it lacks events of {age_text(image.age_s)}" if image.age_s else ""
    return f"of position {image.position}, in {image.archive}{lacks}"


def trim_text(look: "LogLook", reads: "Reads", output: Output) -> Mapping[str, Any]:
    """Return the last trim with user, time and reason from the rows, as fields."""
    from ledger.trimming.look import trim_told  # noqa: PLC0415

    trim = look.trim
    if trim is None:
        return {}
    told = None
    with suppress(LedgerError):
        told = trim_told(reads, trim.position)
    if output is Output.JSON:
        said = {} if told is None else told._asdict()
        return {"last_trim": {**trim._asdict(), **said}}
    text = f"below position {trim.below}, {amount(trim.records, 'record')} in all"
    if told is not None:
        text = f"{text}, by {told.by} {age_text((look.at - told.at) / 1000)} ago"
        text = f"{text}: {told.reason}" if told.reason else text
    return {"last_trim": f"{text}; the events are in {trim.archive}"}
