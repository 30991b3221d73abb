"""The tables of published Delta logs on pages, made from the code."""

from ledger.properties.delta_readers import NEEDS, READERS, VOID
from ledger.properties.promises import FEATURES, PROMISES

VERDICTS = {
    "obeyed": "obeyed",
    "kept": "kept without effect",
    "not set": "refused, or kept if adopted",
    "refused": "refused",
}


def promises() -> str:
    """Return what a published table does with each property, a row each."""
    rows = [
        f"| `{key}` | {each.values or 'any'} | {VERDICTS[each.verdict]} | {each.why} |"
        for key, each in PROMISES.items()
    ]
    head = ["| Property | Values | What the ledger does | Why |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def features() -> str:
    """Return the features that forbid adopting, a row each."""
    rows = [f"| `{key}` | {why} |" for key, why in FEATURES.items()]
    return "\n".join(["| Feature | Why |", "|---|---|", *rows])


def readers() -> str:
    """Return what changes need, and whether each reader then reads the table, a row each."""
    rows = [
        f"| {need.change} | {'none' if key == VOID else f'`{key}`'} | "
        + " | ".join("**refuses**" if reader in need.refused_by else "reads" for reader in READERS)
        + " |"
        for key, need in NEEDS.items()
    ]
    names = " | ".join(reader.replace("(", "(`").replace(")", "`)") for reader in READERS)
    head = f"| Change | Delta feature | {names} |"
    return "\n".join([head, f"|---|---|{'---|' * len(READERS)}", *rows])
