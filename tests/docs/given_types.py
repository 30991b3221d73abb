"""The tables of types that rows may have, for the page of tables."""

from ledger.arrow.given_types import REFUSED, TAKEN


def tables() -> str:
    """Return what is taken, with the column that it becomes, and what is refused."""
    taken = "\n".join(f"| {each.name} | {each.column} |" for each in TAKEN)
    refused = "\n".join(f"| {each.name} | {each.cure} |" for each in REFUSED)
    return f"""| Given | Column |
|---|---|
{taken}

| Refused | What helps |
|---|---|
{refused}
"""
