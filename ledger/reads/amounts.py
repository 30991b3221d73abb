"""Amounts as people read them, on pages and in tables of the command line."""

from typing import Final

KIB: Final = 1024
UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def shown_size(number: int) -> str:
    """Return a number of bytes in a unit that fits it."""
    if number < KIB:
        return f"{number} B"
    size, unit = float(number), "B"
    for each in UNITS:
        size, unit = size / KIB, each
        if size < KIB:
            break
    return f"{size:.1f} {unit}"


def shown_count(number: int | None) -> str:
    """Return a number with its thousands apart, "?" for one that is not known."""
    return "?" if number is None else f"{number:,}"


def amount(number: int | None, one: str) -> str:
    """Return a number with its noun: 1 file, 3,708 files."""
    return f"{shown_count(number)} {one}{'' if number == 1 else 's'}"


def age_text(seconds: float) -> str:
    """Return a duration in the largest unit of which there are two or more."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} seconds"
