"""The protocol of a published table: the features that its readers and writers need, and no more.

The feature `lakeledger` is one for writers only. It keeps foreign writers out, since none knows it.
"""

from collections.abc import Collection
from typing import Any, Final

from ledger.core.commands import Protocol, TableDefinition
from ledger.core.state.traits import FEATURES_NAMED_FROM, KNOWN_FEATURES, features_of
from ledger.delta.actions import READER_FEATURES
from ledger.properties.delta_readers import MAPPING, VOID, needs_of
from projections.delta.actions.schema_json import UnpublishableError

OWN_FEATURE: Final = "lakeledger"
ALWAYS: Final = frozenset({"appendOnly", "invariants"})
COMMIT_TIMES: Final = "inCommitTimestamp"
# A published log has these while it needs them, whatever features the table had before.
OF_THE_LOG: Final = frozenset({COMMIT_TIMES, OWN_FEATURE})
# The ledger takes the part of the coordinator that these name.
REPLACED: Final = frozenset({"catalogManaged", "coordinatedCommits-preview", OWN_FEATURE})
# An earlier name of clustering, which only writers must know.
FOR_WRITERS: Final = frozenset({"liquid"})
MAPPING_READER: Final = 2
FEATURES_READER: Final = 3


def protocol_action(
    protocol: Protocol,
    definition: TableDefinition,
    *,
    extra: Collection[str],
    is_released: bool = False,
) -> dict[str, Any]:
    """Return the protocol action of a table with a protocol in the ledger and a definition.

    `extra` are features that its commits and its log need. Once `is_released`, other writers are
    let in.
    Raises UnpublishableError for a feature that is not known, if readers may need it.
    """
    kept = features_of(protocol) - REPLACED
    if protocol.min_reader >= FEATURES_READER and (
        odd := sorted(kept - KNOWN_FEATURES - FOR_WRITERS)
    ):
        raise UnpublishableError(
            f"the table needs features that are not known here: {', '.join(odd)}"
        )
    features = ((ALWAYS | kept | needs_of(definition) - {VOID}) - OF_THE_LOG) | set(extra)
    features |= set() if is_released else {OWN_FEATURE}
    reading = sorted(features & READER_FEATURES)
    action: dict[str, Any] = {
        "minReaderVersion": FEATURES_READER if reading else 1,
        "minWriterVersion": FEATURES_NAMED_FROM,
    }
    if reading == [MAPPING]:
        action["minReaderVersion"] = MAPPING_READER
    elif reading:
        action["readerFeatures"] = reading
    return action | {"writerFeatures": sorted(features)}
