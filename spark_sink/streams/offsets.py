"""The offsets of a batch as Spark gives them: texts that are mostly JSON.

A query without a checkpoint of its own is refused: its next start is another query.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ledger.sdk.streams import SourceOffset, StreamNote

# Where Spark puts the checkpoint of a query that names none, until the query ends.
TEMPORARY: Final = re.compile(r"/temporary-[0-9a-f-]{36}/?$")


def check_kept(query: str, checkpoint: str) -> None:
    """Raise ValueError for a query whose checkpoint ends with it."""
    if TEMPORARY.search(checkpoint):
        raise ValueError(
            f"query {query} must have a checkpointLocation, got none: without one its next start "
            "is another query, which would write all batches again"
        )


def value_of(text: str | None) -> Any:
    """Return the value of an offset, None for none."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def note_from(stream: Mapping[str, Any]) -> StreamNote:
    """Return the note of a batch that the sink of a table describes; raises as `check_kept`."""
    query = str(stream["query"])
    check_kept(query, str(stream["checkpoint"]))
    sources = tuple(
        SourceOffset(str(each["source"]), value_of(each["end"]), value_of(each["latest"]))
        for each in stream["sources"]
    )
    return StreamNote(query, str(stream["name"]), int(stream["batch"]), sources)
