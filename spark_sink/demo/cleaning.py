"""Cleaning: what holds the watermark, and how it moves on once that is gone."""

from typing import Any

from ledger.transaction import Transaction
from projections.cli import explanation
from spark_sink.demo.delta_folders import remove_folders
from spark_sink.demo.manifest import Entry
from spark_sink.demo.report import Report
from spark_sink.demo.stage import Stage


def clean(stage: Stage, report: Report, reader: Transaction, gone: list[Entry]) -> None:
    """End the reader, remove the folders of aborted txns, and tell the ledger to forget them."""
    before = explain(stage, report)
    report.check(
        "the reader holds the watermark",
        holds=f"open txn {reader.id} " in before["held_by"],
        found=f"{before['mappings_kept']} mappings are kept",
    )
    reader.commit()
    report.say(f"the reader ends txn {reader.id}")
    least = min(entry.txn for entry in gone)
    between = explain(stage, report)
    report.check(
        "the aborted txns hold it now", holds=f"aborted txn {least} " in between["held_by"]
    )
    write_ids = {entry.write_id for entry in gone}
    removed = remove_folders(stage.home.location, write_ids)
    report.same("folders removed of", {each.write_id for each in removed}, write_ids)
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
    """Show what `lakeledger watermark explain` says, and return it."""
    fields = explanation(stage.ledger.reads())
    report.table("watermark explain", [(name, str(value)) for name, value in fields.items()])
    return fields
