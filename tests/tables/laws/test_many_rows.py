"""Statements over files of several batches: rows keep together what belongs to them."""

from pathlib import Path
from random import Random

import pyarrow as pa

from ledger.client import Ledger
from ledger.files.rows.parquet_rows import BATCH_ROWS
from ledger.work.merge_clauses import MergeClause

ROWS = BATCH_ROWS + 20_000
NAME = "db.many"
Model = dict[int, tuple[int, str | None]]


def as_table(model: Model) -> pa.Table:
    kinds = {"id": pa.int64(), "p": pa.int32(), "v": pa.string()}
    rows = [(key, *each) for key, each in model.items()]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(each, kind) for each, kind in zip(columns, kinds.values(), strict=True)]
    return pa.table(arrays, names=list(kinds))


def check(ledger: Ledger, model: Model) -> None:
    found = ledger.scan(NAME).to_arrow()
    assert len(found) == len(model)
    columns = (found[name].to_pylist() for name in ("id", "p", "v"))
    assert {key: (p, v) for key, p, v in zip(*columns, strict=True)} == model


def test_many_rows(ledger: Ledger, tmp_path: Path) -> None:
    """Update, delete and merge change the rows that they mean, in each batch."""
    rng = Random(5)  # noqa: S311 - the same rows each time
    keys = rng.sample(range(ROWS), ROWS)
    model: Model = {key: (key % 3, f"v{key}" if key % 7 else None) for key in keys}
    ledger.create_table(NAME, as_table(model), location=tmp_path)
    (file,) = ledger.read(NAME)
    assert file.size
    check(ledger, model)
    with ledger.transaction() as txn:
        txn.update(NAME, {"v": "concat(coalesce(v, 'n'), '!')", "p": "p + 1"}, "id % 5 = 0")
        txn.delete(NAME, "id % 11 = 3 OR v IS NULL")
    for key, (p, v) in list(model.items()):
        now = (p + 1, f"{v or 'n'}!") if key % 5 == 0 else (p, v)
        model[key] = now
        if key % 11 == 3 or now[1] is None:
            del model[key]
    check(ledger, model)

    news: Model = {key: (key % 4, f"s{key}") for key in rng.sample(range(2 * ROWS), ROWS)}
    with ledger.transaction() as txn:
        txn.merge(
            NAME,
            as_table(news),
            "target.id = source.id",
            clauses=[
                MergeClause.delete("source.id % 13 = 0"),
                MergeClause.update({"v": "concat(target.v, source.v)"}, "target.p < 3"),
                MergeClause.insert(where=f"source.id > {ROWS}"),
                MergeClause.delete_unmatched("target.id % 17 = 0"),
            ],
        )
    check(ledger, merged(model, news))


def merged(model: Model, news: Model) -> Model:
    """Return what the merge makes of the rows."""
    found: Model = {key: each for key, each in news.items() if key not in model and key > ROWS}
    for key, (p, v) in model.items():
        if key not in news:
            if key % 17:
                found[key] = p, v
        elif key % 13:
            found[key] = p, f"{v}{news[key][1]}" if p < 3 else v
    return found
