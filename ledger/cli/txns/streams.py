"""Commands about streams: which queries write tables, and how far they came."""

import json
import time
from typing import Any, Final

import typer

from ledger.cli.answers import Output, OutputOption, answer_rows
from ledger.cli.options import NameOption
from ledger.cli.reading import reading
from ledger.clock import time_text
from ledger.sdk.streams import SourceOffset, StreamRow, streams_in

app = typer.Typer(no_args_is_help=True)

MS: Final = 1000


@app.callback()
def streams() -> None:
    """Look at streams."""


@app.command("list")
def stream_list(ledger: NameOption = None, output: OutputOption = Output.TABLE) -> None:
    """List the streams that record their batches here, with the offsets of the last batch.

    The lag is the number of records, or of commits of a table, that the sources had beyond it, as
    far as the sources said.
    """
    with reading(ledger, output) as (_, reads):
        found = streams_in(reads)
        now_ms = time.time_ns() // 1_000_000
        row = as_json if output is Output.JSON else as_line
        answer_rows([row(each, now_ms) for each in found], output)


def as_json(stream: StreamRow, now_ms: int) -> dict[str, Any]:
    """Return a stream with all that is known of it."""
    return {
        **stream._asdict(),
        "at": time_text(stream.at),
        "age_s": age_s(stream, now_ms),
        "tables": [{"table": table.table, "name": table.name} for table in stream.tables],
    }


def as_line(stream: StreamRow, now_ms: int) -> dict[str, Any]:
    """Return a stream as people read it."""
    return {
        "query": stream.name or stream.query or stream.application,
        "application": stream.application,
        "tables": ", ".join(table.name for table in stream.tables),
        "batch": stream.batch,
        "at": time_text(stream.at),
        "age_s": age_s(stream, now_ms),
        "offsets": offsets_text(stream.offsets),
        "lag": "" if stream.lag is None else stream.lag,
    }


def age_s(stream: StreamRow, now_ms: int) -> int:
    """Return how many seconds ago the last batch was committed."""
    return max(0, now_ms - stream.at) // MS


def offsets_text(offsets: Any) -> str:
    """Return offsets as JSON: those of a query without the names of its sources."""
    names = set(SourceOffset._fields)
    is_of_query = isinstance(offsets, list) and all(
        isinstance(offset, dict) and set(offset) == names for offset in offsets
    )
    shown = [offset["end"] for offset in offsets] if is_of_query else offsets
    return json.dumps(shown[0] if is_of_query and len(shown) == 1 else shown)
