"""The command about streams shows what their commits recorded."""

import json
from pathlib import Path

from ledger.core.commands import AppVersion, TableWrite
from ledger.log.wire.file_list import AddFile, FileList, listed
from ledger.sdk.streams import SourceOffset, StreamNote
from ledger.work.app_notes import info_text, note_text
from tests.core.parts import footprint
from tests.projections.followed import Followed
from tests.projections.rows_of_a_host import command_line, told

LATEST = {"clicks": {"0": 9, "1": 4}}


def streaming() -> Followed:
    """Return a domain with a table that a query and a loader have written, and a plain one."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "visits")
    note = StreamNote(
        "0bc1fd8e", "clicks", 7, (SourceOffset("Kafka", {"clicks": {"0": 5}}, LATEST),)
    )
    for app, info in (("0bc1fd8e", note.info), ("loader", {"offsets": [12]}), ("plain", None)):
        notes = {} if info is None else {app: note_text(app, info)}
        files = FileList([AddFile(f"{app}.parquet")], info=info_text(notes))
        said = listed(footprint(apps=[AppVersion(app, 7)]), files)
        domain.commit(session, 0, TableWrite(table, domain.head.position, (), said))
    return domain


def test_a_stream_is_shown_with_its_tables_its_offsets_and_its_lag(tmp_path: Path) -> None:
    lakeledger = command_line(streaming(), tmp_path)
    query, loader = told(lakeledger("stream", "list", "--output", "json"))
    shown = lakeledger("stream", "list").stdout.splitlines()

    assert (query["name"], query["query"], query["batch"]) == ("clicks", "0bc1fd8e", 7)
    assert [each["name"] for each in query["tables"]] == ["visits"]
    assert query["offsets"][0]["end"] == {"clicks": {"0": 5}}
    assert query["lag"] == 8
    assert (loader["application"], loader["offsets"], loader["lag"]) == ("loader", [12], None)
    assert len(shown) == 3, shown
    assert json.dumps({"clicks": {"0": 5}}) in shown[1]
    assert shown[2].split()[:3] == ["loader", "loader", "visits"]
