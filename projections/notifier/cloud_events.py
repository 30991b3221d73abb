"""Notices as CloudEvents 1.0, in the structured mode of JSON.

The id of an event is its position in the log, and its source is the ledger. A receiver that has
seen an id drops the repeat.
"""

import json
from typing import Any, Final

from ledger.clock import time_text
from projections.notifier.notices import Notice, TableNotice

CONTENT_TYPE: Final = "application/cloudevents+json; charset=utf-8"
COMMITTED: Final = "io.lakeledger.committed"
CONFLICTED: Final = "io.lakeledger.conflicted"


def cloud_event(notice: Notice) -> bytes:
    """Return a notice as one JSON object."""
    only = notice.tables[0].name if len(notice.tables) == 1 else None
    fields: dict[str, Any] = {
        "specversion": "1.0",
        "id": str(notice.position),
        "source": f"urn:lakeledger:{notice.ledger}",
        "type": COMMITTED if notice.lost is None else CONFLICTED,
        "time": time_text(notice.at),
        "datacontenttype": "application/json",
        # All events of a ledger have one key, so a topic of several partitions keeps their order.
        "partitionkey": notice.ledger_name,
        "data": data_of(notice),
    }
    return json.dumps(fields | ({} if only is None else {"subject": only})).encode()


def data_of(notice: Notice) -> dict[str, Any]:
    """Return what happened, as fields."""
    said: dict[str, Any] = {
        "ledger": notice.ledger_name,
        "position": notice.position,
        "txn": notice.txn,
        "user": notice.user,
        "application": notice.application,
        "tables": [table_form(table) for table in notice.tables],
    }
    if (lost := notice.lost) is not None:
        winner = {**lost.winner._asdict(), "at": time_text(lost.winner.at)}
        said["conflict"] = {**lost._asdict(), "winner": winner}
    return said


def table_form(table: TableNotice) -> dict[str, Any]:
    """Return what happened to one table, without its columns."""
    kept = table._asdict()
    del kept["columns"]
    return {**kept, "version": None if table.version < 0 else table.version}
