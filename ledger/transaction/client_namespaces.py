"""How a client creates, alters, drops and lists namespaces, each at once."""

from collections.abc import Mapping, Sequence
from typing import Final

from ledger.core.commands import ChangeNamespace, NamespaceAct
from ledger.core.events.events import NamespaceChanged
from ledger.definitions.definitions import names_of, properties_of
from ledger.definitions.given import check_text
from ledger.definitions.views import check_notes
from ledger.reads.html import ShownList
from ledger.reads.namespaces import NamespaceRow, namespaces_with
from ledger.session.receipt import Receipt
from ledger.session.session import UNNUMBERED
from ledger.transaction.client_txns import LedgerTxns

COMMENT: Final = "comment"
"""The property with the words on a namespace or a table, as in Spark."""


class LedgerNamespaces(LedgerTxns):
    """The part of a client that deals with namespaces: the names before the last dot of a table's.

    A namespace is there if it was created, or while a table is in it. A table needs none.
    """

    def create_namespace(
        self, name: str, *, comment: str = "", properties: Mapping[str, str] | None = None
    ) -> Receipt:
        """Create a namespace such as "sales" or "sales.north".

        `comment` is its property of that name. Raises NamespaceExistsError if it was created
        before; one that was there for its tables alone can be created.
        """
        check_text("a comment", comment)
        words = {COMMENT: comment} if comment else {}
        return self._change("create", name, {**(properties or {}), **words})

    def alter_namespace(
        self, name: str, *, properties: Mapping[str, str] | None = None, unset: Sequence[str] = ()
    ) -> Receipt:
        """Give a namespace properties besides the ones that it has, and remove those in `unset`.

        Raises UnknownNamespaceError, and MetadataChangedException if another program altered it
        meanwhile.
        """
        position, reads = self._view.look()
        known = next(
            (row for row in reads.namespaces(position) if row.name.lower() == name.lower()), None
        )
        kept = {} if known is None else dict(known.properties)
        gone = set(names_of("properties to unset", unset))
        left = {key: text for key, text in kept.items() if key not in gone}
        return self._change("alter", name, {**left, **(properties or {})}, position)

    def drop_namespace(self, name: str, *, cascade: bool = False) -> Receipt | None:
        """Drop a namespace; with `cascade` its tables and the namespaces in it as well.

        The tables go in one txn. None is returned if the namespace was there for its tables alone,
        and ends with them. Raises UnknownNamespaceError, and NamespaceNotEmptyError without
        `cascade`.
        """
        if not cascade:
            return self._change("drop", name, {})
        inside = [row.name for row in self.namespaces(name) if row.changed]
        prefix = f"{name.lower()}."
        tables = [
            row
            for row in self._view.reads().tables()
            if row.catalog == self.catalog and row.name.lower().startswith(prefix)
        ]
        if tables:
            with self.begin() as txn:
                for row in tables:
                    txn.drop_table(row)
        for inner in reversed(inside):
            self._change("drop", inner, {})
        known = any(
            row.name.lower() == name.lower() and row.catalog == self.catalog
            for row in self._view.reads().namespaces()
        )
        return self._change("drop", name, {}) if known or not tables else None

    def namespaces(self, within: str = "") -> Sequence[NamespaceRow]:
        """Return all namespaces, or those in one; one of tables alone has `changed` 0."""
        reads = self._view.reads()
        rows = namespaces_with(reads.namespaces(), reads.tables())
        prefix = f"{within.lower()}." if within else ""
        found = [
            row
            for row in rows
            if row.catalog == self.catalog and row.name.lower().startswith(prefix)
        ]
        heads = ("name", "properties", "changed at")
        return ShownList("namespace", found, heads, lambda row: row[1:])

    def _change(
        self, act: NamespaceAct, name: str, properties: Mapping[str, str], read_at: int = 0
    ) -> Receipt:
        check_text("the name of a namespace", name)
        given = properties_of(properties)
        check_notes(f"namespace {name}", given)
        command = ChangeNamespace(*UNNUMBERED, read_at, self.catalog, name, act, given)
        return self._done(command, NamespaceChanged)
