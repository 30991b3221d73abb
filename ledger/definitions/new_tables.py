"""What a client gives its new tables where the call says nothing of it."""

import re
import secrets
from pathlib import Path
from typing import Final, NamedTuple

from ledger.core.commands import Property, TableDefinition
from ledger.core.partitions.file_paths import is_absolute
from ledger.core.state.traits import known_key
from ledger.definitions.locations import in_one_spelling
from ledger.errors import SettingsError
from ledger.properties.column_mapping import PUBLISH

ODD: Final = re.compile(r"[^\w.-]")
"""A character that folders of tables do not have in their names."""


class NewTables(NamedTuple):
    """The folder below which new tables lie, and how they are published.

    Without a `warehouse` they have no folder. `publish` is the value of the property
    `lakeledger.publish`, "" = they do not have it.
    """

    warehouse: str = ""
    publish: str = ""

    def location(self, catalog: str, name: str) -> str:
        """Return a folder of its own for a new table; raises SettingsError without a warehouse."""
        if not self.warehouse:
            raise SettingsError(
                f"table {name} must have a place for its files: give location=..., or set a "
                "warehouse for all tables (LAKELEDGER_WAREHOUSE, or warehouse = ... in "
                "lakeledger.toml)"
            )
        parts = [ODD.sub("_", part) or "_" for part in (catalog, *name.split("."))]
        return f"{self.warehouse.rstrip('/')}/{'/'.join(parts)}-{secrets.token_hex(4)}"

    def completed(self, definition: TableDefinition, catalog: str, name: str) -> TableDefinition:
        """Return a definition with a folder, unless it names its own, and with the property."""
        if definition.kind != "managed":
            return definition
        if self.warehouse and not definition.location:
            definition = definition._replace(location=self.location(catalog, name))
        if not self.publish or not definition.location or definition.layout != "listed":
            return definition
        given = definition.properties
        if any(known_key(each.key) == PUBLISH for each in given):
            return definition
        return definition._replace(properties=sorted([*given, Property(PUBLISH, self.publish)]))


def warehouse_at(folder: str) -> str:
    """Return a warehouse as its tables name it: a relative folder begins in the current one.

    Raises SettingsError for a wrong URI, and for a `~`, which only shells replace.
    """
    try:
        found = in_one_spelling(folder)
    except ValueError as error:
        raise SettingsError(f"the warehouse cannot be used: {error}") from None
    if found.partition("/")[0].startswith("~"):
        raise SettingsError(
            f"the warehouse must be a path without ~, got {folder!r}: write the whole path, since "
            "only a shell replaces ~"
        )
    if not found or is_absolute(found):
        return found
    return in_one_spelling(str(Path(found).absolute()))
