"""Planted histories of published tables."""

from collections.abc import Mapping
from typing import Final

from tests.consistency.history import History
from tests.consistency.judge.anomalies import Kind
from tests.consistency.judge.plants import history, txn, whole
from tests.consistency.operations import Insert, Row

PLANTED_PUBLISHED: Final[Mapping[str, tuple[Kind, History]]] = {
    "a published log without a row": (
        "published rows differ",
        history(
            txn("t1", 0, Insert("stock", 1, 11)),
            txn("f", 2, whole("stock", Row(1, 11, "")), session="final"),
            txn("p", 4, whole("stock"), session="published"),
        ),
    )
}
