"""What was written, and who won with it, as plain lists and numbers, and back.

The part of the canonical form of a state that is about definitions, footprints and winners; the
conflict index is entered again from its parts.
"""

from typing import Any

from ledger.core.commands import (
    AppVersion,
    CoarseWrite,
    Column,
    Domain,
    Footprint,
    Property,
    Protocol,
    TableDefinition,
)
from ledger.core.conflicts.index import ConflictIndex, TableWinners
from ledger.core.conflicts.winners import WinningPart
from ledger.core.tables import Pending

Plain = Any


def definition_from(form: Plain) -> TableDefinition:
    """Return the table definition of a form."""
    kind, layout, location, columns, partition_columns, properties = form
    return TableDefinition(
        kind,
        layout,
        location,
        [Column(*column) for column in columns],
        partition_columns,
        [Property(*each) for each in properties],
    )


def pending_form(change: Pending) -> Plain:
    """Return the form of a metadata change that waits."""
    return [*change[:6], None if change.definition is None else list(change.definition), change[7]]


def pending_from(form: Plain) -> Pending:
    """Return the metadata change of a form."""
    found = Pending(*form)
    if found.definition is None:
        return found
    return found._replace(definition=definition_from(found.definition))


def footprint_form(footprint: Footprint) -> Plain:
    """Return the form of a footprint; bytes as hex digits."""
    return [each.hex() if isinstance(each, bytes) else each for each in footprint]


def footprint_from(form: Plain) -> Footprint:
    """Return the footprint of a form."""
    found = Footprint(*form)
    return found._replace(
        read_files=bytes.fromhex(form[3]),
        removes=bytes.fromhex(form[6]),
        protocol=None if found.protocol is None else Protocol(*found.protocol),
        domains=[Domain(*each) for each in found.domains],
        apps=[AppVersion(*each) for each in found.apps],
        files=bytes.fromhex(form[14]),
        digest=bytes.fromhex(form[16]),
    )


def winners_form(winners: ConflictIndex) -> Plain:
    """Return the form of the conflict index: its parts, oldest first, and what they stand under."""
    return {
        "floor": winners.floor,
        "shapes": [
            [table, [[since, list(schema)] for since, schema in each.shapes]]
            for table, each in sorted(winners.tables.items())
        ],
        "parts": [
            [*part[:-1], None if part.footprint is None else footprint_form(part.footprint)]
            for part in winners.parts
        ],
    }


def restore_winners(winners: ConflictIndex, form: Plain) -> None:
    """Enter the parts of a form again."""
    winners.floor = form["floor"]
    for table, shapes in form["shapes"]:
        schemas = [(since, tuple((name, kind) for name, kind in each)) for since, each in shapes]
        winners.tables[table] = TableWinners(schemas)
    for each in form["parts"]:
        part = WinningPart(*each)
        footprint = None if part.footprint is None else footprint_from(part.footprint)
        writes = [CoarseWrite(*write) for write in part.coarse]
        winners.record(part._replace(coarse=writes, footprint=footprint), ())
