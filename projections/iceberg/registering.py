"""Registering: a table of another catalog, by its metadata file, becomes a table of the ledger.

It is imported with its history and adopted in one go, as the client names the ledger its catalog
from then on. A request names files that the server opens. So the metadata file, and the location of
the table, must lie below a place that the server permits.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.client import Ledger
from ledger.core.conflicts.metadata_diff import properties
from ledger.errors import (
    ConflictError,
    IcebergTableError,
    IncompatibleError,
    LimitExceededError,
    OutcomeUnknownError,
    SettingsError,
    TableExistsError,
    UnreadableTableError,
)
from ledger.iceberg.importer import ADOPTED, import_iceberg
from ledger.iceberg.imports.adopting import IcebergNotAdoptableError, adopt_iceberg
from ledger.iceberg.imports.finding import ENDINGS
from ledger.iceberg.imports.loading import load_metadata
from ledger.iceberg.imports.metadata_fields import MetadataShapeError
from ledger.iceberg.imports.source_files import is_in
from ledger.iceberg.imports.steps import rehearse
from ledger.reads.port import TableRow
from projections.iceberg.errors import already_there, bad_request, commit_failed, outcome_unknown

UNFIT: Final = (
    *(IcebergTableError, IncompatibleError, LimitExceededError, SettingsError),
    *(UnreadableTableError, MetadataShapeError),
)
"""What is wrong with the metadata, or not known here: no later try does better."""


def register(
    ledger: Ledger, name: str, request: Mapping[str, Any], places: Sequence[str]
) -> TableRow:
    """Import the table whose metadata file a request names, adopt it, and return its row.

    `name` is the table's in the ledger, `places` are the folders below which tables may lie. A
    registration that was ended half-way is continued. Raises IcebergRefusal: 409 for a name that is
    taken, 400 for metadata elsewhere, damaged, or with what the ledger lacks.
    """
    file = request.get("metadata-location")
    if not isinstance(file, str) or not file.endswith(ENDINGS):
        raise bad_request(
            f"metadata-location must be the path of a metadata file, got {str(file)[:200]!r}"
        )
    if request.get("overwrite"):
        raise bad_request("overwrite must be false: drop the table first, and register it then")
    if not places:
        raise bad_request(
            "no table can be registered here: the server permits no place for their files"
        )
    if not any(is_in(file, place) for place in places):
        raise bad_request(f"metadata-location must lie below a permitted place, got {file[:200]!r}")
    try:
        return registered(ledger, name, file, places)
    except UNFIT as error:
        raise bad_request(str(error)) from error
    except TableExistsError as error:
        raise already_there("Table", name) from error
    except (ConflictError, IcebergNotAdoptableError) as error:
        raise commit_failed(str(error)) from error
    except OutcomeUnknownError as error:
        raise outcome_unknown(str(error)) from error


def registered(ledger: Ledger, name: str, file: str, places: Sequence[str]) -> TableRow:
    """Return the row of a table after its import and its adoption; raises as both of them."""
    metadata = load_metadata(file)
    if not any(is_in(metadata.location, place) for place in places):
        raise bad_request(
            "the location of a table must lie below a permitted place, got "
            f"{metadata.location[:200]!r}"
        )
    before = ledger.reads().table_named(ledger.catalog, name)
    if before is not None and ADOPTED in properties(before.definition):
        raise already_there("Table", name)
    # Snapshot by snapshot it would end half-way at one that the ledger cannot take.
    rehearse(ledger, file, metadata, ())
    report = import_iceberg(ledger, file, name)
    row = ledger.reads().table(report.table)
    assert row is not None, f"table {report.table} is not in the rows any more"
    adopt_iceberg(ledger, row, is_newest=True)
    row = ledger.reads().table(report.table)
    assert row is not None, f"table {report.table} is not in the rows any more"
    return row
