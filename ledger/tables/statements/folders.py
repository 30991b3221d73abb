"""Inserts into tables of layout `directories`: files in Hive's folders of the txn's write id."""

from collections.abc import Iterable
from typing import Any

from ledger.sdk.writes import coarse_write
from ledger.tables.data_files import NewFiles, new_writer
from ledger.tables.statements.target import StatementTable
from ledger.tables.storage import storage_at


def insert_into_folders(table: StatementTable, batches: Iterable[Any]) -> None:
    """Insert rows into the folder `delta_<write id>` of each partition.

    Each partition is declared as inserted into, so the commit has Hive's grain.
    """
    hand = table.hand
    storage = storage_at(table.definition.location)
    number = hand.write_id(table.number)
    folder = f"delta_{number:07d}_{number:07d}/"
    files = NewFiles(storage, table.schema, new_writer(hand.id), folder=folder)
    try:
        for batch in batches:
            files.write(batch)
        made = files.finish()
    except BaseException:
        files.discard()
        raise
    paths = [each.path for each in made]
    hand.data.note(table.definition.location, storage, paths, table.definition)
    for partition in dict.fromkeys(each.rpartition(folder)[0].rstrip("/") for each in paths):
        write = coarse_write("insert", table.row, partition=partition or None)
        hand.writes.add(table.number, write, 0)
