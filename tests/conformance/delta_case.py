"""A case of suite `delta` under way: its table, and what each side reads and writes there."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ledger.core.commands import (
    AlterTable,
    AppVersion,
    Column,
    CommitTxn,
    CreateTable,
    Domain,
    Footprint,
    OpenTxn,
    Property,
    Protocol,
    TableDefinition,
    TableWrite,
)
from ledger.core.conflicts.footprints import EMPTY_FOOTPRINT, packed
from ledger.core.conflicts.metadata_diff import IDENTITY_MARK, properties
from ledger.core.events.events import Event, TableAltered, TableCreated, TxnCommitted, TxnOpened
from ledger.core.state.traits import DEFAULT_PROTOCOL, ENFORCE_PROPERTY, features_of
from ledger.log.wire.file_list import AddFile, FileList, RemoveFile, listed
from tests.conditions import predicate_tree
from tests.conformance.case_ledger import CaseLedger
from tests.conformance.hive_case import UnexpectedAnswerError
from tests.conformance.suite import Case

Side = Mapping[str, Any]

# The names the cases use, where Delta's log has another.
OPERATIONS = {
    "INSERT": "WRITE",
    "INSERT_SELECT": "WRITE",
    "OVERWRITE": "WRITE",
    "STREAMING": "STREAMING UPDATE",
    "REPLACE": "REPLACE TABLE",
    "CREATE": "CREATE TABLE",
    "ALTER": "SET TBLPROPERTIES",
    "MANUAL": "Manual Update",
    "SYNC_IDENTITY": "SYNC IDENTITY",
    "ROW_TRACKING_BACKFILL": "ROW TRACKING BACKFILL",
    "ROW_TRACKING_UNBACKFILL": "ROW TRACKING UNBACKFILL",
}
CONF = {"conflictChecker.enforceConcurrentFeatureEnablement.enabled": ENFORCE_PROPERTY}
NAME = "t"
FEATURES_NAMED_READER, FEATURES_NAMED_WRITER = 3, 7


class Begun(NamedTuple):
    """A txn that holds its snapshot: id, session, table and the position it reads at."""

    txn: int
    session: int
    table: int
    read_at: int


class DeltaCase:
    """The table of a case in a ledger of its own; `table` 0 = nobody has created it yet."""

    def __init__(self, ledger: CaseLedger, case: Case) -> None:
        self._ledger = ledger
        self._about = case["table"]
        self._columns: Sequence[str] = self._about["partition_columns"]
        self._partitions: dict[str, tuple[str | None, ...]] = {}
        self._definition = definition_of(case)
        self._changes = 0
        self.table = 0
        if self._about.get("exists", True):
            self.table = self._create()

    def begin(self, side: Side) -> Begun:
        """Open a txn of a session of its own, with its metadata change pending in it."""
        session = self._ledger.open_session()
        opened = self._ask(session, TxnOpened, OpenTxn, "default", 1, 0)
        txn, read_at = opened.control.txn, opened.control.position
        table = self.table
        if side["metadata_change"] and not table:
            created = self._ask(
                session, TableCreated, CreateTable, txn, 0, "lake", NAME, self._definition
            )
            table = created.body.table  # type: ignore[union-attr]
        elif side["metadata_change"]:
            operation = operation_of(side)
            definition = self._changed(side)
            self._ask(session, TableAltered, AlterTable, txn, read_at, table, definition, operation)
        return Begun(txn, session, table, read_at)

    def commit(self, begun: Begun, side: Side, *, version: int, is_winner: bool = False) -> Event:
        """Commit what a side read and wrote; its application, if any, reaches `version`."""
        footprint = self._footprint(side, version)
        if is_winner:
            footprint = recorded(footprint, is_blind=side.get("blind_append") is True)
        write = TableWrite(begun.table, begun.read_at, (), footprint)
        event = self._ledger.ask(begun.session, CommitTxn, begun.txn, (write,), "")
        if isinstance(event.body, TxnCommitted):
            self.table = begun.table
        return event

    def _create(self) -> int:
        """Create the table with its first commit and return its id."""
        session = self._ledger.open_session()
        created = self._ask(
            session, TableCreated, CreateTable, 0, 0, "lake", NAME, self._definition
        )
        table: int = created.body.table  # type: ignore[union-attr]
        features = self._about.get("protocol", {}).get("features")
        files = FileList([self._added(each) for each in self._about["files"]])
        footprint = listed(EMPTY_FOOTPRINT, files)._replace(
            operation="CREATE TABLE AS SELECT",
            protocol=protocol_of(features) if features is not None else None,
        )
        write = TableWrite(table, created.control.position, (), footprint)
        self._ask(session, TxnCommitted, CommitTxn, 0, (write,), "")
        return table

    def _footprint(self, side: Side, version: int) -> Footprint:
        mode = side.get("app_id_mode", "read+write").split("+") if side["app_id"] else ()
        files = FileList(
            [self._added(each) for each in side["adds"]],
            [
                RemoveFile(
                    each["path"], self._partitions.get(each["path"]), each.get("data_change", True)
                )
                for each in side["removes"]
            ],
        )
        return listed(EMPTY_FOOTPRINT, files)._replace(
            operation=operation_of(side),
            reads=[predicate_tree(sql) for sql in side["read_predicates"]],
            reads_whole=side["read_whole_table"],
            read_files=packed(side["read_files"]),
            read_apps=[side["app_id"]] if "read" in mode else [],
            apps=[AppVersion(side["app_id"], version)] if "write" in mode else [],
            domains=[Domain(each, "{}", removed=False) for each in side.get("domain_metadata", ())],
            protocol=self._protocol(side) if side["protocol_change"] else None,
        )

    def _added(self, each: Mapping[str, Any]) -> AddFile:
        values = tuple(each["partition"].get(name) for name in self._columns)
        self._partitions[each["path"]] = values
        vector = each.get("deletion_vector") or ""
        return AddFile(
            each["path"], values, data_change=each.get("data_change", True), vector=vector
        )

    def _protocol(self, side: Side) -> Protocol:
        """Return the protocol as it stands, with the features of a side added and removed."""
        table = self._ledger.state.tables.by_id.get(self.table)
        now = table.protocol if table is not None else DEFAULT_PROTOCOL
        change = side.get("protocol", {})
        features = {*features_of(now), *change.get("features_added", ())}
        return protocol_of(features - set(change.get("features_removed", ())))

    def _changed(self, side: Side) -> TableDefinition:
        """Return the definition a side gives the table."""
        now = self._ledger.state.tables.by_id[self.table].definition
        self._changes += 1
        kind = side.get("metadata_kind", "schema")
        values = properties(now)
        match kind:
            case "schema":
                added = Column(f"added_{self._changes}", "int", nullable=True, id=0)
                return now._replace(columns=[*now.columns, added])
            case "identity_high_water_mark":
                return now._replace(
                    columns=[marked(column, self._changes) for column in now.columns]
                )
            case "config":
                values |= side.get("config", {})
                for key in side.get("config_removed", ()):
                    values.pop(key, None)
            case "constraint":
                values[f"delta.constraints.c{self._changes}"] = "x > 0"
            case "replace" | "identical":
                pass
            case _:
                raise UnexpectedAnswerError(f"{kind!r} is no kind of metadata change")
        return now._replace(properties=properties_of(values))

    def _ask(self, session: int, wanted: type, command: Any, *fields: Any) -> Event:
        event = self._ledger.ask(session, command, *fields)
        if not isinstance(event.body, wanted):
            raise UnexpectedAnswerError(f"{command.__name__} was answered {event.body}")
        return event


def recorded(footprint: Footprint, *, is_blind: bool) -> Footprint:
    """Return a winner's footprint with its recorded flag, which is believed whatever it read."""
    if is_blind:
        return footprint._replace(reads=[], reads_whole=False, read_files=b"")
    return footprint._replace(not_blind=True)


def operation_of(side: Side) -> str:
    """Return the operation of a side as Delta's log has it."""
    operation: str = side["operation"]
    return OPERATIONS.get(operation, operation)


def definition_of(case: Case) -> TableDefinition:
    """Return the table of a case; it has every property that a side takes away."""
    about = case["table"]
    removed = {key for side in case["winning"] for key in side.get("config_removed", ())}
    removed |= set(case["current"].get("config_removed", ()))
    values = {
        # Levels count in any case; a side that sets one writes it otherwise, which is a change.
        "delta.isolationLevel": case["isolation"].lower(),
        **dict.fromkeys(removed, "true"),
        **{CONF[key]: str(value).lower() for key, value in case.get("conf", {}).items()},
    }
    given = dict(about.get("properties", {}))
    identity = given.pop("identity_column", None)
    values |= given
    types = dict(about["schema"])
    if identity is not None:
        types.setdefault(identity, "bigint")
    columns = [
        marked(Column(name, kind, nullable=name != identity, id=0), 0)
        for name, kind in types.items()
    ]
    return TableDefinition(
        "managed",
        "listed",
        "file:///lake/t",
        columns,
        about["partition_columns"],
        properties_of(values),
    )


def marked(column: Column, mark: int) -> Column:
    """Return an identity column with its high water mark raised; others are unchanged."""
    if column.nullable:
        return column
    return column._replace(metadata=json.dumps({IDENTITY_MARK: mark}))


def properties_of(values: Mapping[str, str]) -> list[Property]:
    """Return properties ascending by key."""
    return [Property(key, value) for key, value in sorted(values.items())]


def protocol_of(features: Any) -> Protocol:
    return Protocol(FEATURES_NAMED_READER, FEATURES_NAMED_WRITER, sorted(features))
