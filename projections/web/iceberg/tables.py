"""Answers about tables: what is there, its metadata, and every change of it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Final

from ledger.errors import ReaderBehindError
from projections.iceberg.commits.given_json import Given, text_in
from projections.iceberg.errors import (
    IcebergRefusal,
    RowsInLogError,
    already_there,
    bad_request,
    outcome_unknown,
)
from projections.iceberg.names import TableIdentifier, table_name
from projections.web.iceberg.bodies import changes_in, identifier_in
from projections.web.iceberg.namespaces import BODY, check_outer, page_of
from projections.web.iceberg.ports import ShownTable, Snapshots
from projections.web.iceberg.visits import DONE, NOT_MODIFIED, Reply, Visit

SHOWN_S: Final = 60.0
"""So long may the rows be behind a change that was made."""

ALL: Final = "all"
REFS: Final = "refs"
REPORTS: Final = ("scan-report", "commit-report")


def list_tables(visit: Visit) -> Reply:
    """Return the tables in a namespace."""
    found = visit.seen.tables(visit.namespace)
    page, more = page_of(visit, found, lambda each: each.name)
    return Reply(form={"identifiers": [each.form() for each in page], **more})


def load_table(visit: Visit) -> Reply:
    """Return the metadata of a table, or that it is the one that the client has."""
    snapshots = snapshots_in(visit.query.get("snapshots", ALL))
    table = shown(visit)
    tag = tag_of(table, snapshots)
    if tag in tags_in(visit.headers.get("if-none-match", "")):
        return Reply(NOT_MODIFIED, headers={"etag": tag})
    return loaded(table, snapshots)


def has_table(visit: Visit) -> Reply:
    """Tell whether a table is there."""
    visit.seen.table(visit.table)
    return DONE


def create_table(visit: Visit) -> Reply:
    """Create a table, or describe one that a later commit creates."""
    with visit.lake.client(visit.user) as ledger:
        made = visit.lake.parts().commits.create(ledger, visit.namespace, visit.form)
    return Reply(form=made)


def commit_table(visit: Visit) -> Reply:
    """Execute a change of a table, and return its metadata after that."""
    form, own = visit.form, visit.table
    if form.get("identifier") is not None and identifier_in(form, "identifier", BODY) != own:
        raise bad_request(f"identifier must be {own.text()}, the table in the path, or be left out")
    commit(visit, [{**form, "identifier": own.form()}])
    return after_change(lambda: shown(replace(visit)))


def after_change(table: Callable[[], ShownTable]) -> Reply:
    """Return the metadata of a table after a change, whose outcome is unknown without it.

    Rows that are behind are waited for, and rows of the log that come again and again: some clients
    delete their files at an unknown outcome.
    """
    until_s = monotonic() + SHOWN_S
    try:
        while True:
            try:
                return loaded(table(), ALL)
            except (ReaderBehindError, RowsInLogError):
                if monotonic() >= until_s:
                    raise
    except Exception as problem:
        raise outcome_unknown(
            f"the change was made, but its result cannot be shown: {problem}. Load the table again"
        ) from problem


def commit_tables(visit: Visit) -> Reply:
    """Execute changes of several tables together, or none of them."""
    changes = changes_in(visit.form)
    named = [identifier_in(each, "identifier", "a change") for each in changes]
    if len(set(named)) < len(named):
        raise bad_request("each table must be named once in table-changes, got one twice")
    commit(visit, changes)
    return DONE


def commit(visit: Visit, changes: Sequence[Given]) -> None:
    """Execute changes as the user of a request."""
    with visit.lake.client(visit.user) as ledger:
        visit.lake.parts().commits.commit(ledger, changes)


def drop_table(visit: Visit) -> Reply:
    """Drop a table; its files go with a vacuum, after their retention, also with a purge."""
    row = visit.seen.table(visit.table)
    with visit.client() as ledger:
        ledger.drop_table(row)
    return DONE


def rename_table(visit: Visit) -> Reply:
    """Give a table another name, in the same namespace or another one."""
    source, wanted = (identifier_in(visit.form, name, BODY) for name in ("source", "destination"))
    name, row = table_name(wanted), visit.seen.table(source)
    check_outer(visit, wanted.namespace)
    if visit.seen.is_taken(wanted):
        raise already_there("Table", wanted.text())
    with visit.client() as ledger:
        ledger.rename_table(row, name)
    return DONE


def report_metrics(visit: Visit) -> Reply:
    """Take the report of a client about a scan or a commit, and keep nothing of it."""
    kind = visit.form.get("report-type")
    if kind not in REPORTS:
        raise bad_request(f"report-type must be {' or '.join(REPORTS)}, got {str(kind)[:80]!r}")
    visit.seen.table(visit.table)
    return DONE


def plan_table(visit: Visit) -> Reply:
    """Return the files that a scan of a table reads, also of a snapshot before its last flush."""
    row, lake = visit.seen.table(visit.table), visit.lake
    is_named = visit.position is None and visit.form.get("snapshot-id") is not None
    for position in lake.flushed(row) if is_named else ():
        with suppress(IcebergRefusal):
            return Reply(form=lake.parts().tables.table(row, position).plan(visit.form))
    return Reply(form=shown(visit).plan(visit.form))


def register_table(visit: Visit) -> Reply:
    """Take over a table of another catalog, with its history, by its metadata file."""
    identifier = TableIdentifier(visit.namespace, text_in(visit.form, "name", BODY))
    name = table_name(identifier)
    check_outer(visit, visit.namespace)
    if not visit.lake.places:
        raise IcebergRefusal(
            406,
            "UnsupportedOperationException",
            "this catalog permits no place of tables to register: set iceberg.register, or bring "
            "the table in with `lakeledger import`",
        )
    with visit.lake.client(visit.user) as ledger:
        commits = visit.lake.parts().commits
        row = commits.register(ledger, name, visit.form, visit.lake.places)
    return after_change(lambda: visit.lake.table(row))


def snapshots_in(text: str) -> Snapshots:
    """Return which snapshots a load shows; raises IcebergRefusal."""
    if text == ALL:
        return ALL
    if text == REFS:
        return REFS
    raise bad_request(f"snapshots must be {ALL} or {REFS}, got {text!r}")


def shown(visit: Visit) -> ShownTable:
    """Return the table in a path as Iceberg shows it."""
    row = visit.seen.table(visit.table)
    if visit.position is None:
        return visit.lake.table(row)
    return visit.lake.parts().tables.table(row, visit.position)


def loaded(table: ShownTable, snapshots: Snapshots) -> Reply:
    """Return the metadata of a table with its tag."""
    metadata = table.metadata(snapshots)
    form = {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}
    return Reply(form=form, headers={"etag": tag_of(table, snapshots)})


def tag_of(table: ShownTable, snapshots: Snapshots) -> str:
    """Return the tag of the metadata, as the header has it."""
    found = table.etag(snapshots)
    return found if found.startswith(('"', 'W/"')) else f'"{found}"'


def tags_in(header: str) -> set[str]:
    """Return the tags that a client has; a weak one counts as the same."""
    found = {each.strip() for each in header.split(",")}
    return found | {f"W/{each}" for each in found} | {each.removeprefix("W/") for each in found}
