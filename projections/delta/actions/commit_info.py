"""The commitInfo of a published version: what the ledger and the writer of a commit say of it."""

import json
from collections.abc import Mapping
from typing import Any, Final

from projections.delta.actions.file_actions import Action
from projections.delta.table_state import CommittedVersion

ENGINE: Final = "LakeLedger"


def commit_info(ledger: str, version: CommittedVersion, shows: int | None = None) -> Action:
    """Return the commitInfo of a version, with what its writer noted.

    It names the version whose rows readers see, if that is another one.
    """
    noted = notes(version.files.info) if version.files is not None else {}
    fields: dict[str, Any] = {
        "inCommitTimestamp": version.at,
        "timestamp": version.at,
        "operation": version.operation,
        "operationParameters": noted.pop("operationParameters", {}),
    }
    if version.level:
        fields["isolationLevel"] = version.level
    fields["isBlindAppend"] = version.blind
    fields["engineInfo"] = noted.pop("engineInfo", ENGINE)
    own = {
        "ledger": ledger,
        "table": version.table,
        "position": version.position,
        "txn": version.txn,
        "writeId": version.write_id,
    }
    if shows is not None:
        own["shows"] = shows
    rest = {key: each for key, each in noted.items() if key not in fields and key != "lakeledger"}
    return {**fields, "lakeledger": own, **rest}


def notes(info: str) -> dict[str, Any]:
    """Return what the writer of a commit noted, without what is no JSON object."""
    try:
        found: Mapping[str, Any] = json.loads(info) if info else {}
    except (ValueError, RecursionError):
        return {}
    return dict(found) if isinstance(found, dict) else {}
