"""UPDATE: new values for the rows that fulfil a condition."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow.compute as pc

from ledger.tables.statements.assigning import assigned, assignments
from ledger.tables.statements.target import ChangedRows, StatementTable


def update(table: StatementTable, changes: Mapping[str, Any], where: Any = None) -> ChangedRows:
    """Give columns of the rows that fulfil a condition new values.

    A text is an expression of Spark SQL over the row as it was; any other value is a constant.
    """
    table.check_listed()
    terms = assignments(changes, table.schema, table.schema, table.zone)
    condition = table.condition(where)
    found, touched, count = table.read(where), [], 0
    with table.judge() as judge:

        def rows() -> Iterator[Any]:
            nonlocal count
            for file in found:
                before = table.rows(file)
                hit = judge.fulfilled(before, condition)
                hits = pc.sum(hit).as_py() or 0
                if not hits:
                    continue
                touched.append(file)
                count += hits
                yield before.filter(pc.invert(hit))
                yield assigned(judge, table.schema, before.filter(hit), terms)

        adds = table.write(rows())
    table.replace(touched, adds, "UPDATE")
    return ChangedRows(updated=count)
