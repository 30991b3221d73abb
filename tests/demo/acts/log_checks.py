"""Checks of the log: after the kills each command has one answer, and no id is missing."""

from typing import Final

from ledger.log.replay import verify
from ledger.reads.port import TableRow
from tests.demo.acts.audit import Audit, Term, is_dense, read_audit
from tests.demo.acts.loading import Load
from tests.demo.acts.manifest import ManifestEntry, with_step
from tests.demo.report import Report
from tests.demo.stage import Kill, Stage

EXPIRED: Final = "lease"
MS_PER_S: Final = 1000


def check_log(
    stage: Stage,
    report: Report,
    table: TableRow,
    load: Load,
    entries: list[ManifestEntry],
    *,
    conflicts: int,
) -> Audit:
    """Read the whole log, check that nothing was lost or doubled, and return the audit.

    `conflicts` is how many commits got a conflict error.
    """
    audit = read_audit(stage.log)
    check_commands(report, audit)
    report.same("conflicts in the log are the clients' conflict errors", audit.conflicts, conflicts)
    check_ids(report, audit, table)
    check_ends(report, audit, load, entries)
    check_take_over(report, audit, load.kill)
    return audit


def check_commands(report: Report, audit: Audit) -> None:
    """Check that every command was answered, and executed once."""
    asked, answered = len(audit.asked_ms), sum(audit.first_answers.values())
    report.check("no command is lost", holds=audit.all_answered, found=f"{asked} are answered")
    report.check("no number of a session is missing", holds=not audit.missing)
    report.check(
        "no command is executed twice",
        holds=not audit.doubled,
        found=f"{answered} numbers answered, {audit.repeated} sent again and answered as repeated",
    )
    report.same("commands refused", audit.refused, [], "none")


def check_ids(report: Report, audit: Audit, table: TableRow) -> None:
    """Check that ids rise without a gap and belong to one txn each."""
    report.check(
        "txn ids are dense", holds=is_dense(audit.opened), found=f"1 to {len(audit.opened)}"
    )
    ids = audit.write_ids[table.table]
    report.check(
        f"write ids of {table.name} are dense", holds=is_dense(list(ids)), found=f"1 to {len(ids)}"
    )
    report.check(
        "each write id belongs to one txn", holds=all(len(txns) == 1 for txns in ids.values())
    )


def check_ends(report: Report, audit: Audit, load: Load, entries: list[ManifestEntry]) -> None:
    """Check that the log and the producers agree about every txn."""
    commits = {entry.txn: entry.position for entry in with_step(entries, "committed")}
    in_log = {entry.txn: audit.committed.get(entry.txn) for entry in with_step(entries, "wrote")}
    found = {txn: position for txn, position in in_log.items() if position is not None}
    report.same(
        "the log has just the commits that producers got receipts for",
        found,
        commits,
        f"{len(commits)} at the same positions",
    )
    killed = load.left_open.txn
    report.same(f"txn {killed} of the killed producer ended by", audit.aborted.get(killed), EXPIRED)


def check_take_over(report: Report, audit: Audit, kill: Kill) -> None:
    """Check that another process leads, and answered the commands from before its lead."""
    term = term_after(audit, kill)
    report.check(
        f"{term.sequencer} leads epoch {term.epoch} after {kill.sequencer}",
        holds=term.sequencer != kill.sequencer,
        found=f"fence {(term.fenced_ms - kill.at_ms) / MS_PER_S:.2f} s and first answer "
        f"{take_over_s(audit, kill):.2f} s after the kill",
    )
    waiting = audit.waiting_at(term)
    report.check(
        "commands were in flight at the kill and are answered by the next epoch",
        holds=waiting > 0,
        found=str(waiting),
    )


def check_bytes(stage: Stage, report: Report) -> str:
    """Check the chain of the whole log record by record, and that it folds; return the result."""
    verified = verify(stage.log)
    dropped = sum(verified.dropped.values())
    report.check(
        "every record of the log counts or is dropped by rule",
        holds=verified.records == verified.head.position + dropped,
        found=f"{verified.records} records, {dropped} dropped, digest {verified.digest[:16]}",
    )
    return f"{verified.records} records up to position {verified.head.position}, {dropped} dropped"


def term_after(audit: Audit, kill: Kill) -> Term:
    """Return the term that began after a kill."""
    return next(term for term in audit.terms if term.fenced_ms >= kill.at_ms)


def take_over_s(audit: Audit, kill: Kill) -> float:
    """Return the time from the kill to the first answer of the next epoch."""
    return (term_after(audit, kill).answers[0].at_ms - kill.at_ms) / MS_PER_S
