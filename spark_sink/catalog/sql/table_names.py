"""Which table of which attached catalog a name in a statement means."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from spark_sink.catalog.session.open_statements import unsupported


class CatalogTable(NamedTuple):
    """A catalog, and the name of a table in it."""

    catalog: str
    table: str


class SessionPlace(NamedTuple):
    """Where a session stands.

    Attributes:
        current: its catalog.
        space: its schema in that.
        attached: the catalogs that are ledgers.
        others: names in the statement that are catalogs of Spark.
    """

    current: str
    space: Sequence[str]
    attached: Sequence[str]
    others: Iterable[str]

    def table(self, parts: Sequence[str]) -> CatalogTable | None:
        """Return the table of a name, None if its catalog is no ledger."""
        first, *rest = parts
        if rest and first in self.attached:
            return CatalogTable(first, ".".join(rest))
        if self.current not in self.attached or (rest and first in self.others):
            return None
        whole = parts if rest else [*self.space, first]
        return CatalogTable(self.current, ".".join(whole))

    def catalog(self, joined: str = "") -> str | None:
        """Return the catalog of a statement without a table, None if no ledger is attached.

        `joined` is the key of the txn that the session is in.
        """
        owner = joined.partition("/")[0]
        for known in (owner, self.current):
            if known in self.attached:
                return known
        if len(self.attached) > 1:
            raise unsupported(
                f"the statement must say which ledger it means, there are "
                f"{', '.join(sorted(self.attached))}: USE one of them first"
            )
        return self.attached[0] if self.attached else None


def named(attached: Iterable[str], asked: Mapping[str, Any]) -> Mapping[str, str]:
    """Answer which table a name of `format("lakeledger")` means; raises Refusal for none."""
    place, parts = place_of(asked, attached), list(asked["parts"])
    found = place.table(parts)
    if found is None and parts[0] not in place.others:
        catalog = place.catalog()
        found = None if catalog is None else CatalogTable(catalog, ".".join(parts))
    if found is None:
        raise unsupported(
            f"format lakeledger must name a table of a ledger, got {'.'.join(parts)}: attach the "
            "ledger first, and name the table as ledger.db.sales"
        )
    return found._asdict()


def place_of(asked: Mapping[str, Any], attached: Iterable[str]) -> SessionPlace:
    """Return where the session of a question stands."""
    return SessionPlace(
        asked["current"], asked["space"], tuple(attached), asked.get("catalogs", ())
    )
