"""CHECK constraints of real Delta tables: imported, the ledger takes the rows that Delta takes."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from ledger.arrow.types import arrow_type
from ledger.client import Ledger
from ledger.delta.importer import import_delta
from ledger.errors import ConstraintViolatedError
from tests.tables.delta_spark import delta_session
from tests.tables.test_check_constraints import COLUMNS, CONDITIONS

NAME = "db.imported"


def test_a_table_of_deltalake_is_under_its_constraint(ledger: Ledger, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1], "price": [1.0]}))
    DeltaTable(tmp_path).alter.add_constraint({"positive": "price > 0"})
    bad = {"id": 2, "price": -1.0}
    with pytest.raises(DeltaError, match="Invalid data"):
        write_deltalake(tmp_path, pa.Table.from_pylist([bad]), mode="append")
    import_delta(ledger, tmp_path, NAME)
    with pytest.raises(ConstraintViolatedError, match="positive"):
        ledger.append(NAME, [bad])
    ledger.append(NAME, [{"id": 2, "price": 2.0}])
    assert ledger.scan(NAME).count() == 2


@pytest.mark.slow
@pytest.mark.spark
def test_delta_spark_and_the_ledger_agree_on_each_row(ledger: Ledger, tmp_path: Path) -> None:
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - loads Spark

    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)
    verdicts: list[tuple[int, int, int]] = []
    with delta_session(tmp_path) as session:
        for number, (condition, row, taken) in enumerate(CONDITIONS):
            folder = tmp_path / str(number)
            session.sql(f"CREATE TABLE delta.`{folder}` ({columns}) USING delta")
            session.sql(f"ALTER TABLE delta.`{folder}` ADD CONSTRAINT C CHECK ({condition})")
            import_delta(ledger, folder, f"db.t{number}")
            given = session.createDataFrame(as_arrow(row))
            with suppress(Py4JJavaError):
                given.write.format("delta").mode("append").save(str(folder))
            with suppress(ConstraintViolatedError):
                ledger.append(f"db.t{number}", [row])
            by_delta = session.read.format("delta").load(str(folder)).count()
            verdicts.append((taken, by_delta, ledger.scan(f"db.t{number}").count()))
    assert verdicts == [(taken,) * 3 for _, _, taken in CONDITIONS]


def as_arrow(row: Mapping[str, Any]) -> pa.Table:
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in COLUMNS])
    return pa.Table.from_pylist([dict(row)], schema=schema)
