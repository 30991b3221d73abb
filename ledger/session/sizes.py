"""Sizes of commands: the largest part of a command that fits no record, and what helps."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ledger.core.commands import (
    AlterTable,
    CommitTxn,
    CreateTable,
    Footprint,
    OpenSession,
    SessionCommand,
    StageWrites,
    TableDefinition,
)


class Share(NamedTuple):
    """One part of a command: its bytes, its name, and what helps."""

    size: int
    what: str
    remedy: str


def largest_share(command: OpenSession | SessionCommand) -> Share:
    """Return the largest part of a command."""
    return max(shares_of(command), default=Share(0, "", "put less into one command"))


def shares_of(command: OpenSession | SessionCommand) -> Iterator[Share]:
    """Yield the parts of a command that can be large."""
    match command:
        case CreateTable() | AlterTable():
            yield from shares_of_definition(command.definition)
        case StageWrites():
            yield from shares_of_footprint(command.footprint)
        case CommitTxn():
            for write in command.tables:
                coarse = [each.partition for each in write.writes]
                yield Share(
                    bytes_of(coarse),
                    f"{len(coarse)} coarse writes of partitions of table {write.table}",
                    "declare whole tables instead of many partitions, or use more txns",
                )
                if write.footprint is not None:
                    yield from shares_of_footprint(write.footprint)
        case _:
            pass


def shares_of_definition(definition: TableDefinition) -> Iterator[Share]:
    """Yield the columns and the properties of a definition."""
    columns = {each.name: bytes_of(each[:2]) + bytes_of([each.metadata]) for each in definition[3]}
    yield Share(
        sum(columns.values()),
        f"the schema of {len(columns)} columns{longest(columns, 'column')}, before it is packed",
        "shorten comments and other metadata of columns, or keep fewer columns in one table",
    )
    properties = {each.key: bytes_of(each) for each in definition.properties}
    yield Share(
        sum(properties.values()),
        f"the {len(properties)} properties{longest(properties, 'key')}, before they are packed",
        "shorten or remove properties of the table",
    )


def shares_of_footprint(footprint: Footprint) -> Iterator[Share]:
    """Yield the files, scans, applications and domains of a footprint."""
    files = len(footprint.files) + len(footprint.removes) + len(footprint.read_files)
    partitions = bytes_of(footprint.adds) + bytes_of(footprint.removes_in)
    yield Share(files + partitions, "the list of files", "shorten the statistics of the files")
    yield Share(
        bytes_of(footprint.reads),
        f"the conditions of {len(footprint.reads)} scans",
        "read with shorter conditions, or use more txns",
    )
    apps = {app.app: bytes_of([app.app]) for app in footprint.apps}
    yield Share(
        sum(apps.values()),
        f"the progress of {len(apps)} applications{longest(apps, 'application')}",
        "record the progress of fewer applications in one txn",
    )
    domains = {domain.name: bytes_of(domain[:2]) for domain in footprint.domains}
    yield Share(
        sum(domains.values()),
        f"{len(domains)} metadata domains{longest(domains, 'domain')}",
        "set fewer or shorter domains in one txn",
    )


def longest(sizes: dict[str, int], kind: str) -> str:
    """Return a clause that names the largest item, "" without items."""
    if not sizes:
        return ""
    name = max(sizes, key=lambda each: sizes[each])
    return f" (the largest is {kind} {name[:80]!r} with {sizes[name]} bytes)"


def bytes_of(texts: Iterable[str]) -> int:
    """Return the number of bytes of texts in UTF-8."""
    return sum(len(text.encode()) for text in texts)
