"""What holds of a played history of rows: each version, and what changed from one to the next."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.tables.laws.model import TableModel
from tests.tables.laws.row_history import RowHistory
from tests.tables.laws.statements import counted
from tests.tables.laws.test_histories import check_conditions, check_scan
from tests.tables.row_files import plain, tuples

PRE: Final = "update_preimage"
POST: Final = "update_postimage"
CAME: Final = {"insert": 1, POST: 1, "delete": -1, PRE: -1}
Row = tuple[Any, ...]


def check_rows(history: RowHistory) -> None:
    """Assert all that is said of a history that has been played."""
    check_versions(history)
    for name in history.versions:
        check_changes(history, name)
    check_sql(history)


def check_versions(history: RowHistory) -> None:
    """Assert that each version has the rows that the model has, also where a condition holds."""
    ledger = history.ledger
    for name, versions in history.versions.items():
        for version, seen in versions.items():
            check_scan(ledger, name, seen.model, version=version)
        version, seen = history.rng.choice(list(versions.items()))
        check_conditions(history.rng, ledger, name, seen.model, version=version)
        check_conditions(history.rng, ledger, name, history.world[name])


def check_changes(history: RowHistory, name: str) -> None:
    """Assert that the changes of each version are the difference of its neighbours."""
    columns = history.world[name].columns
    shown: dict[int, list[tuple[str, Row]]] = defaultdict(list)
    for batch in history.ledger.changes(name, after=0).rows():
        rows = tuples(batch.select([column.name for column in columns]))
        kinds = batch.column("_change_type").to_pylist()
        for version, kind, row in zip(
            batch.column("_commit_version").to_pylist(), kinds, rows, strict=True
        ):
            shown[version].append((kind, row))
    ids = [column.id for column in columns]
    versions = history.versions[name]
    for version in sorted(versions.keys() - {0}):
        before, after = versions[version - 1].model, versions[version].model
        net: Counter[Row] = Counter()
        for kind, row in shown[version]:
            net[row] += CAME[kind]
        wanted = difference(before, after, ids)
        wrong = {row: (n, wanted.get(row, 0)) for row, n in net.items() if n != wanted.get(row, 0)}
        wrong |= {row: (0, n) for row, n in wanted.items() if row not in net}
        assert not wrong, f"version {version} of {name}: changes shown, and meant: {wrong}"
        pairs = history.pairs.get(versions[version].position)
        if pairs is not None and pairs[0] == name:
            check_pairs(shown[version], pairs[1], ids)


def difference(before: TableModel, after: TableModel, ids: Sequence[int]) -> Mapping[Row, int]:
    """Return how often each row came, and below 0 how often it went."""
    found: Counter[Row] = Counter()
    for model, sign in ((before, -1), (after, 1)):
        for row in model.rows.values():
            found[shape(row, ids)] += sign
    return {row: n for row, n in found.items() if n}


def shape(row: Mapping[int, Any], ids: Sequence[int]) -> Row:
    return tuple(plain(row.get(each)) for each in ids)


def check_pairs(shown: Sequence[tuple[str, Row]], pairs: Any, ids: Sequence[int]) -> None:
    """Assert that an UPDATE shows each row before and after it; rows that stay may be left out."""
    wanted: Counter[tuple[str, Row]] = Counter()
    for old, new in pairs:
        former, later = shape(old, ids), shape(new, ids)
        if former != later:
            wanted[PRE, former] += 1
            wanted[POST, later] += 1
    found = Counter(shown)
    assert {kind for kind, _ in shown} <= {PRE, POST}
    for (kind, row), n in found.items():
        other = POST if kind == PRE else PRE
        # What stays as it was may be shown as both, or as neither.
        extra = n - wanted[kind, row]
        assert extra == found[other, row] - wanted[other, row]
        assert extra >= 0 or min(wanted[PRE, row], wanted[POST, row]) >= -extra
    assert found.keys() >= {each for each in wanted if not is_both(each, wanted)}


def is_both(each: tuple[str, Row], wanted: Mapping[tuple[str, Row], int]) -> bool:
    """Return whether a row went and came, so that it may cancel out."""
    return all((kind, each[1]) in wanted for kind in (PRE, POST))


def check_sql(history: RowHistory) -> None:
    """Assert that DuckDB sees the tables, now and as of one version of each."""
    for name, versions in history.versions.items():
        version, seen = history.rng.choice(list(versions.items()))
        places: Sequence[tuple[dict[str, Any], TableModel]] = [
            ({}, history.world[name]),
            ({"version": version}, seen.model),
        ]
        for place, model in places:
            found = history.ledger.sql(f"SELECT * FROM {name}", **place).to_arrow()  # noqa: S608
            assert counted(found) == model.counted()
