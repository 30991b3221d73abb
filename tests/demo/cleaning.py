"""Cleaning: the data of aborted txns, the holders of the watermark, and its move after that."""

from typing import Any, Final

from ledger.cli.tables.cleaning import explanation
from ledger.transaction.transaction import Transaction
from tests.demo.acts.loading import Load
from tests.demo.acts.manifest import ManifestEntry, with_step
from tests.demo.delta_folders import remove_folders
from tests.demo.report import Report, wait_until
from tests.demo.stage import LEASE_S, Stage

MS_PER_S: Final = 1000


def wait_for_expiry(
    stage: Stage, report: Report, load: Load, entries: list[ManifestEntry]
) -> list[ManifestEntry]:
    """Wait for the end of the txn that was left open; return it and the aborted ones."""
    killed = load.left_open

    def is_aborted() -> bool:
        row = stage.reads.txn(killed.txn)
        return row is not None and row.status == "aborted"

    wait_until(is_aborted, f"txn {killed.txn} has expired")
    row = stage.reads.txn(killed.txn)
    assert row is not None, "it was there a moment ago"
    after_s = (row.ended_at - load.killed_ms) / MS_PER_S
    report.say(
        f"txn {killed.txn} of the killed {killed.producer} was aborted {after_s:.1f} s after the "
        f"kill: its lease is {LEASE_S:.0f} s, and a new leader waits for one before it ends any"
    )
    return sorted([*with_step(entries, "aborted"), killed], key=lambda entry: entry.txn)


def clean(stage: Stage, report: Report, reader: Transaction, gone: list[ManifestEntry]) -> None:
    """End the reader, remove the data of aborted txns, and let the ledger forget them.

    `gone` are those txns, in order of their ids.
    """
    before = explain(stage, report)
    report.check(
        "the reader holds the watermark",
        holds=f"open txn {reader.id} " in before["held_by"],
        found=f"{before['mappings_kept']} mappings are kept",
    )
    reader.commit()
    report.say(f"the reader ends txn {reader.id}")
    between = explain(stage, report)
    report.check(
        "the first aborted txn holds it now",
        holds=f"aborted txn {gone[0].txn} " in between["held_by"],
    )
    write_ids = sorted(entry.write_id for entry in gone)
    removed = remove_folders(stage.home.location, write_ids)
    found = sorted(each.write_id for each in removed)
    report.same("the folders of aborted write ids are removed", found, write_ids)
    receipt = stage.ledger.forget_aborted([entry.txn for entry in gone])
    report.say(
        f"the ledger forgets txns {[each.txn for each in gone]}: position {receipt.position}"
    )
    after = explain(stage, report)
    report.same("the watermark is the next txn", after["watermark"], after["next_txn"])
    report.check(
        "the old mappings are gone",
        holds=after["mappings_kept"] == 0 < before["mappings_kept"],
        found=f"{before['mappings_kept']} before, {after['mappings_kept']} after",
    )


def explain(stage: Stage, report: Report) -> dict[str, Any]:
    """Show the output of `lakeledger watermark explain`, and return it."""
    fields = explanation(stage.ledger.reads())
    report.table("watermark explain", [(name, str(value)) for name, value in fields.items()])
    return fields
