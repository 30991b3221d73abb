"""Notices as run events of OpenLineage: a committed txn completes a run, a lost one fails it.

The tables that the footprint read are the inputs, the tables that it wrote are the outputs. A run
has one event, at its end, and its id is a function of the ledger and the txn.
"""

import json
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from ledger.clock import time_text
from ledger.core.partitions.file_paths import FILE, parts_of
from ledger.version import CODE_VERSION
from projections.notifier.notices import Notice, TableNotice

CONTENT_TYPE: Final = "application/json"
PRODUCER: Final = f"urn:lakeledger:{CODE_VERSION}"
SPEC: Final = "https://openlineage.io/spec"
EVENT: Final = f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
# The version of each facet that is written.
FACETS: Final = {
    "SchemaDatasetFacet": "1-2-0",
    "SymlinksDatasetFacet": "1-0-1",
    "DatasetVersionDatasetFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "ErrorMessageRunFacet": "1-0-1",
}


def run_event(notice: Notice) -> bytes:
    """Return a notice as one JSON object."""
    run = f"urn:lakeledger:{notice.ledger}:{notice.txn or f'at-{notice.position}'}"
    operations = ", ".join(dict.fromkeys(table.operation for table in notice.tables)).strip(", ")
    name = ".".join(filter(None, (notice.application or notice.user, operations or "READ")))
    return json.dumps(
        {
            "eventType": "COMPLETE" if notice.lost is None else "FAIL",
            "eventTime": time_text(notice.at),
            "run": {"runId": str(uuid5(NAMESPACE_URL, run)), "facets": run_facets(notice)},
            "job": {"namespace": namespace(notice), "name": name, "facets": {}},
            "inputs": [dataset(notice, table) for table in notice.tables if table.is_read],
            "outputs": [output(notice, table) for table in notice.tables if table.is_written],
            "producer": PRODUCER,
            "schemaURL": EVENT,
        }
    ).encode()


def namespace(notice: Notice) -> str:
    """Return the namespace of the jobs and datasets of a ledger."""
    return f"lakeledger://{notice.ledger_name}"


def run_facets(notice: Notice) -> dict[str, Any]:
    """Return why a run failed, nothing for one that is complete."""
    if (lost := notice.lost) is None:
        return {}
    message = f"{lost.exception} in {lost.unit}, against txn {lost.winner.txn}: {lost.remedy}"
    said = {"message": message, "programmingLanguage": "PYTHON"}
    return {"errorMessage": facet("ErrorMessageRunFacet", **said)}


def dataset(notice: Notice, table: TableNotice) -> dict[str, Any]:
    """Return a table with its columns and its location."""
    columns = [{"name": column.name, "type": column.type} for column in table.columns]
    facets = {"schema": facet("SchemaDatasetFacet", fields=columns)} if columns else {}
    if table.location:
        facets["symlinks"] = facet("SymlinksDatasetFacet", identifiers=[link_to(table.location)])
    if table.version >= 0:
        facets["version"] = facet("DatasetVersionDatasetFacet", datasetVersion=str(table.version))
    return {"namespace": namespace(notice), "name": table.name, "facets": facets}


def link_to(location: str) -> dict[str, str]:
    """Return a location as other producers of lineage name it."""
    scheme, host, path = parts_of(location)
    if not host:
        return {"namespace": FILE, "name": path, "type": "LOCATION"}
    return {"namespace": f"{scheme}://{host}", "name": path.lstrip("/"), "type": "LOCATION"}


def output(notice: Notice, table: TableNotice) -> dict[str, Any]:
    """Return a written table with the rows and bytes that it got, as far as they are known."""
    known = {"rowCount": table.rows, "size": table.size, "fileCount": table.adds}
    counts = {name: number for name, number in known.items() if number is not None}
    is_known = table.size is not None
    statistics = facet("OutputStatisticsOutputDatasetFacet", **counts)
    facets = {"outputStatistics": statistics} if is_known else {}
    return {**dataset(notice, table), "outputFacets": facets}


def facet(name: str, **fields: Any) -> dict[str, Any]:
    """Return a facet with the address of its schema."""
    schema = f"{SPEC}/facets/{FACETS[name]}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": schema, **fields}
