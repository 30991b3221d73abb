"""A constraint that a definition has anew, checked before the definition is sent.

It is checked with the rows that the table has. Constraints that the table had before are kept as
they are, also if an import brought them and they cannot be checked here.
"""

from typing import Final

from ledger.core.commands import LEVELS, TableDefinition
from ledger.core.state.traits import traits_of
from ledger.definitions.given import check_arrow
from ledger.properties.known_properties import adds_constraints, constraints_of
from ledger.work.unit_of_work import Work

WEAKEST: Final = LEVELS[0]


def check_constraints(
    name: str, before: TableDefinition | None, after: TableDefinition, zone: str
) -> None:
    """Raise ValueError for a new constraint that cannot be checked, or for a changed column of one.

    `name` is the table's. `before` is None for a new table. Raises SettingsError without the extra
    `arrow`.
    """
    if not constraints_of(after):
        return
    is_reshaped = before is not None and list(before.columns) != list(after.columns)
    if not is_reshaped and not adds_constraints(before, after):
        return
    if after.kind != "managed" or after.layout == "directories":
        raise ValueError(
            f"table {name} cannot have CHECK constraints, because its rows lie in folders: other "
            "writers put rows there unchecked, while a table of layout listed names each file"
        )
    check_arrow()
    from ledger.statements.constraints import check_definition  # noqa: PLC0415 - loads Arrow

    check_definition(name, before, after, zone)


def check_rows(work: Work, table: int, before: TableDefinition, after: TableDefinition) -> None:
    """Raise ConstraintViolatedError if a row of a table breaks a constraint that it gets anew.

    The txn remembers that it read the whole table. Raises ValueError if its level, or else the
    table's, lets others add rows meanwhile.
    """
    if max((traits_of(before).level, work.level or WEAKEST), key=LEVELS.index) == WEAKEST:
        raise ValueError(
            f"a constraint must be added at a level above {WEAKEST}, at which others may add rows "
            'meanwhile: use Ledger.alter_table, or begin the txn with level="serializable"'
        )
    check_arrow()
    from ledger.statements.constraints import check_present  # noqa: PLC0415 - loads Arrow

    check_present(work, table, before, after)
