"""Suite `delta`: whatever a case may say reaches the ledger, and nothing is read past."""

from typing import Any

import pytest

from tests.conformance.delta import SUITE
from tests.conformance.delta_samples import (
    ABSENT,
    ONE_FILE,
    altered,
    case,
    created,
    inserted,
    updated,
    upgraded,
)
from tests.conformance.logs import MemoryLedgers
from tests.conformance.suite import Mismatch

VERSION_ENABLED = "delta.inCommitTimestampEnablementVersion"
AGREEING: dict[str, dict[str, Any]] = {
    "two winners take one application further": case(
        inserted("p1/n", app_id="q"),
        inserted("p1/v", app_id="q"),
        inserted("p1/w", app_id="q"),
        expect="ConcurrentTransactionException",
        conflicting_winner=0,
    ),
    "another application does not mind how often": case(
        inserted("p1/n", app_id="other"), inserted("p1/v", app_id="q"), inserted("p1/w", app_id="q")
    ),
    "files recorded again without row ids are not new": case(
        updated(),
        inserted("p1/a", data_change=False, operation="ROW_TRACKING_UNBACKFILL"),
        table={**ONE_FILE, "protocol": {"features": ["domainMetadata", "rowTracking"]}},
    ),
    "winners that came after the creation": case(
        created("p1/n"),
        created("p1/v"),
        inserted("p1/w"),
        altered(),
        expect="ProtocolChangedException",
        conflicting_winner=0,
        table=ABSENT,
    ),
    "a feature that no client knows": case(
        inserted("p1/n"),
        altered(
            metadata_change=False,
            protocol_change=True,
            protocol={"features_added": ["thinkingColumns"], "unsupported_by_client": True},
        ),
        expect="UnsupportedTableFeatureException",
    ),
    "a property that the table has had before": case(
        inserted("p1/n"),
        altered("config", config={VERSION_ENABLED: "4"}),
        expect="MetadataChangedException",
        table={
            **ONE_FILE,
            "properties": {VERSION_ENABLED: "3"},
            "protocol": {"features": ["inCommitTimestamp"]},
        },
    ),
    "an identity column among the others": case(
        inserted("p1/n"),
        inserted("p1/w", metadata_change=True, metadata_kind="identity_high_water_mark"),
        table={
            **ONE_FILE,
            "schema": {"part": "int", "id": "bigint"},
            "properties": {"identity_column": "id"},
        },
    ),
    "a winner without the flag is not blind": case(
        updated(),
        {key: value for key, value in inserted("p1/w").items() if key != "blind_append"},
        expect="ConcurrentAppendException",
        isolation="WriteSerializable",
    ),
    "a partition column without a value is null": case(
        updated(read_predicates=["part IS NULL"]),
        inserted("w", adds=[{"path": "w", "partition": {}}]),
        expect="ConcurrentAppendException",
    ),
    "a removal changes data unless it says otherwise": case(
        updated(removes=[{"path": "p1/a"}]),
        inserted("p1/w", blind_append=False, read_files=["p1/a"], removes=[{"path": "p1/a"}]),
        expect="ConcurrentAppendException",
    ),
    "a property that two winners take away": case(
        inserted("p1/n"),
        altered("config", config_removed=["k"]),
        altered("config", config_removed=["k"]),
        expect="MetadataChangedException",
        conflicting_winner=0,
    ),
    "statistics, which no predicate is judged by": case(
        updated(),
        inserted(
            "p1/w", adds=[{"path": "p1/w", "partition": {"part": "1"}, "stats": {"x": [7, 9]}}]
        ),
        expect="ConcurrentAppendException",
        stats={"x": [1, 5]},
    ),
    "a winner that says it is blind is believed": case(
        updated(),
        inserted("p1/w", read_predicates=["TRUE"], read_files=["p1/a"]),
        isolation="WriteSerializable",
    ),
}
UNREADABLE: dict[str, dict[str, Any]] = {
    "hint": case(inserted("p1/n"), hint=1),
    "engine": case(inserted("p1/n"), table={**ONE_FILE, "engine": "kernel"}),
    "versions": case(inserted("p1/n"), table={**ONE_FILE, "protocol": {"versions": [3, 7]}}),
    "rows": case(inserted("p1/n", rows=1)),
    "version": case(inserted("p1/n"), upgraded(version=7)),
    "moved": case(inserted("p1/n", adds=[{"path": "w", "partition": {}, "moved": True}])),
    "tags": case(updated(removes=[{"path": "p1/a", "tags": {}}])),
}


@pytest.mark.parametrize("name", AGREEING)
def test_the_product_agrees(name: str) -> None:
    """What the fact sheet says becomes of a case does."""
    SUITE.run(AGREEING[name], MemoryLedgers())


@pytest.mark.parametrize("field", UNREADABLE)
def test_nothing_is_read_past(field: str) -> None:
    with pytest.raises(Mismatch, match=rf"got also \['{field}'\]"):
        SUITE.run(UNREADABLE[field], MemoryLedgers())
