"""The command `status`: whether a ledger works, and how far its rows are.

It prints all it can find out, and why the ledger does not work: no ledger is up, its broker or its
rows do not answer, no sequencer leads, or the rows stay behind the log.
"""

import json
from collections.abc import Mapping
from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ledger.cli.answers import Output, OutputOption, answer
from ledger.cli.failures import Stopped
from ledger.cli.machine.log_shown import looked_at, shown, trim_text
from ledger.cli.options import AWAY_S, CONFIGURED, NameOption, catalog_of
from ledger.cli.reading import reading_at, when
from ledger.cli.tables.anomalies import counted, counts_shown
from ledger.clock import AHEAD_MAX_MS, SystemClock
from ledger.config.address import Address
from ledger.config.search import client_for, find_address, log_of
from ledger.core.events.events import LedgerCreated
from ledger.definitions.client_reads import check_identity
from ledger.errors import (
    AccessDeniedError,
    IncompatibleError,
    LedgerDownError,
    LedgerError,
    ReaderBehindError,
    SettingsError,
)
from ledger.log.log_end import last_position
from ledger.log.port import Log, LogReader, Topic
from ledger.machine.exit_codes import ExitCode
from ledger.reads.amounts import age_text, amount, shown_size
from ledger.reads.port import Reads, TxnRow
from ledger.session.receipt import Token
from ledger.session.tail import read_genesis
from projections.reads.dropped_files import waiting_files

if TYPE_CHECKING:
    from ledger.trimming.look import LogLook

BEAT_WAIT_S: Final = 1.0
ROWS_WAIT_S: Final = 10.0
READ_MAX: Final = 100
FIELDS: Final = (
    *("ledger", "id", "bootstrap", "healthy", "reason", "leader", "position", "lag_positions"),
    *(
        "records_in_log",
        "last_event",
        "times_ahead_s",
        "open_txns",
        "aborted_txns",
        "tables",
        "waiting_for_vacuum",
        "rows_in_log",
        "next_txn",
    ),
    *("watermark", "oldest_txn", "last_backup", "disks"),
    *("first_position", "last_trim", "trim_policy", "image", "consumers", "slowest_consumer"),
    *("a_day", "days_left", "growth"),
    *("anomalies", "more_anomalies", "topics", "publisher", "iceberg"),
)


class SeenLog(NamedTuple):
    """What the log holds: ledger, last position, number of records, and the leader if one beats.

    `look` is how it begins, and what follows it.
    """

    origin: Token
    position: int
    records: int
    leader: dict[str, Any] | None
    look: "LogLook"


def status(ledger: NameOption = None, output: OutputOption = Output.TABLE) -> None:
    """Show the leader, how far the rows are behind, open txns, and anomalies.

    Exits with 10 if the ledger is down, its broker or its rows do not answer, no sequencer leads,
    or the rows do not reach the log's end within 10 s; the reason is printed.
    """
    found = dict.fromkeys(FIELDS)
    try:
        address = find_address(ledger=ledger)
    except LedgerDownError as down:
        found |= {"ledger": ledger}
        reasons = [str(down)]
    else:
        found |= {"ledger": address.ledger, "bootstrap": address.bootstrap}
        reasons = [*look(address, found, output)]
    reason = "; ".join(reasons) or None
    found |= {"healthy": reason is None, "reason": reason}
    if output is Output.TABLE:
        found = {name: each for name, each in found.items() if each is not None}
    answer(found, output)
    if reason is not None:
        raise Stopped(reason, ExitCode.UNHEALTHY)


def look(address: Address, found: dict[str, Any], output: Output) -> list[str]:
    """Add the facts of the log and the rows to `found`; return why the ledger does not work.

    Raises SettingsError and IncompatibleError: they are about this host, not about the ledger.
    """
    reasons, seen = list[str](), None
    found |= seen_on_host(address, output)
    if address.publisher_url is not None:
        found |= seen_of_publisher(address.publisher_url, output)
    if address.iceberg_url is not None:
        found |= seen_of_iceberg(address.iceberg_url, output)
    try:
        seen = seen_in_log(address)
        found |= {"leader": seen.leader, "records_in_log": seen.records, **shown(seen.look, output)}
        if seen.leader is None:
            reasons.append("no sequencer has beaten for a second: commands wait until one leads")
        found["topics"], faults = seen_of_topics(address)
        reasons += faults
    except LedgerError as problem:
        reasons.append(why_unwell(problem))
    if seen is None and address.store is None and address.reads_url is None:
        return reasons  # The place of the rows does not matter yet.
    try:
        with reading_at(address) as reads:
            if seen is not None:
                check_identity(reads, seen.origin, 0)
            found |= seen_in_rows(reads, seen, output)
            if seen is not None:
                reasons += rows_behind(reads, seen.position, ROWS_WAIT_S)
                found |= trim_text(seen.look, reads, output)
    except LedgerError as problem:
        reasons.append(why_unwell(problem))
    return reasons


def seen_on_host(address: Address, output: Output) -> Mapping[str, Any]:
    """Return the room on the disks of this host, and the last backup taken here, as fields."""
    from ledger.machine.room import places_of  # noqa: PLC0415 - a command loads what it uses

    places = places_of(address)
    disks, last = places.disks(), places.last_backup()
    if output is Output.JSON:
        backup = None if last is None else {**last._asdict(), "age_s": round(last.age_s())}
        return {"disks": [disk._asdict() for disk in disks], "last_backup": backup}
    return {
        "disks": "; ".join(
            f"{disk.what} {shown_size(disk.free)} free of {shown_size(disk.size)}" for disk in disks
        )
        or None,
        "last_backup": "none was taken on this host: lakeledger backup PATH"
        if last is None
        else f"{age_text(last.age_s())} ago, to {last.path}, up to position {last.position}",
    }


def seen_of_topics(address: Address) -> tuple[str | None, list[str]]:
    """Return what to show of the settings of the topics, None if all is right, and the faults."""
    from ledger.log.kafka.topic_watch import MENDED_BY_UP  # noqa: PLC0415 - as below
    from ledger.log.kafka.topics import look_at_topics  # noqa: PLC0415 - loads the admin client

    try:
        client = client_for(address)
        looked = look_at_topics(address.bootstrap, address.ledger, client=client, timeout_s=AWAY_S)
    except AccessDeniedError as denied:
        return f"not looked at: {denied}", []
    if not looked.faults:
        return None, []
    return (
        f"{amount(len(looked.faults), 'setting')} may lose records; {MENDED_BY_UP}",
        looked.faults,
    )


TRIED: Final = ", its storage is tried again"


def seen_of_publisher(url: str, output: Output) -> Mapping[str, Any]:
    """Return how the publisher of Delta logs is, as fields, or why that is not known."""
    from ledger.reads.remote.publisher import HttpPublisher  # noqa: PLC0415 - loads the HTTP client

    is_json = output is Output.JSON
    with closing(HttpPublisher(url)) as publisher:
        try:
            found = publisher.status()
        except LedgerError as problem:
            return {"publisher": {"problem": str(problem)} if is_json else str(problem)}
    if is_json:
        stopped = [each._asdict() for each in found.stopped]
        return {"publisher": {**found._asdict(), "stopped": stopped}}
    lag = "unknown" if found.lag_ms is None else f"{found.lag_ms} ms"
    texts = [f"{amount(found.tables, 'table')}, at position {found.position}, lag {lag}"]
    texts += [
        f"{each.name} stopped before version {each.version}{TRIED if each.is_retried else ''}"
        for each in found.stopped
    ]
    return {"publisher": "; ".join(texts)}


def seen_of_iceberg(url: str, output: Output) -> Mapping[str, Any]:
    """Return where the catalog for clients of Iceberg is, and what keeps it from answering."""
    from ledger.reads.remote.http_questions import HttpQuestions  # noqa: PLC0415 - HTTP client

    with closing(HttpQuestions(url, timeout_s=AWAY_S)) as catalog:
        try:
            checks = catalog.readiness().get("checks", {})
        except LedgerError as problem:
            reasons = [str(problem)]
        else:
            down = (each for each in checks.items() if each[1].get("status") != "UP")
            reasons = [f"{name}: {each.get('detail', '')}" for name, each in down]
    reason = "; ".join(reasons) or None
    if output is Output.JSON:
        return {"iceberg": {"url": url, "problem": reason}}
    return {"iceberg": url if reason is None else f"{url}, {reason}"}


def why_unwell(problem: LedgerError) -> str:
    """Return why a ledger does not work, from an error of its log or its rows.

    Raises the error again if it is about this host only.
    """
    is_of_host = isinstance(problem, SettingsError | IncompatibleError)
    if is_of_host and not isinstance(problem, LedgerDownError):
        raise problem
    return str(problem)


def seen_in_rows(reads: Reads, seen: SeenLog | None, output: Output) -> Mapping[str, Any]:
    """Return the facts from the rows, as fields."""
    mark, counts, position = reads.watermark(), reads.counts(), reads.position()
    newest, oldest = reads.history(max(0, position - 1), 1), reads.open_txns(1)
    return {
        "id": reads.identity().ledger,
        "position": position,
        "lag_positions": max(0, seen.position - position) if seen is not None else None,
        "last_event": when(newest[0].at) if newest else None,
        "times_ahead_s": ahead_s(newest[0].at) if newest else None,
        "open_txns": counts.open_txns,
        "aborted_txns": counts.aborted_txns,
        "tables": counts.tables,
        "waiting_for_vacuum": waiting(reads, output),
        "rows_in_log": rows_in_log(reads, output),
        "next_txn": mark.next_txn,
        "watermark": mark.watermark,
        "oldest_txn": open_txn(oldest[0], output) if oldest else None,
        **counts_shown(counted(reads, catalog_of(CONFIGURED)), output),
    }


def open_txn(row: TxnRow, output: Output) -> Any:
    """Return an open txn with its age, session and owner: fields, or words."""
    age_s = max(0.0, (SystemClock().now_ms() - row.opened_at) / 1000)
    owner = f"{row.user}@{row.host} {row.application}".strip()
    if output is Output.JSON:
        opened = {"opened_at": when(row.opened_at), "age_s": round(age_s)}
        return {"txn": row.txn, "session": row.session, "owner": owner, **opened}
    return f"txn {row.txn} of {owner}, session {row.session}, open for {age_text(age_s)}"


def waiting(reads: Reads, output: Output) -> Any:
    """Return the files of dropped tables that this host sees: fields, or words, None for none."""
    found = waiting_files(reads)
    return found._asdict() if output is Output.JSON else found.text() or None


def rows_in_log(reads: Reads, output: Output) -> Any:
    """Return how many rows wait for a flusher, and since when: fields, or words, None for none."""
    found = reads.blocks()
    if not found:
        return None
    age_s = max(0.0, (SystemClock().now_ms() - min(each.since for each in found)) / 1000)
    rows, size = sum(each.rows for each in found), sum(each.size for each in found)
    if output is Output.JSON:
        return {"tables": len(found), "rows": rows, "bytes": size, "oldest_s": round(age_s)}
    where = f"{amount(rows, 'row')} of {amount(len(found), 'table')}, {shown_size(size)}"
    return f"{where}; the oldest for {age_text(age_s)}"


def ahead_s(at_ms: int) -> int | None:
    """Return by how many seconds a time is ahead of the clock of this host, None if it is not."""
    ahead_ms = at_ms - SystemClock().now_ms()
    return ahead_ms // 1000 if ahead_ms > AHEAD_MAX_MS else None


def rows_behind(reads: Reads, position: int, wait_s: float) -> list[str]:
    """Return why rows count as behind: they do not reach `position` in time; [] if they do."""
    try:
        reads.wait(position, round(wait_s * 1000))
    except ReaderBehindError as behind:
        late = (
            f"rows end at position {behind.applied}, the log at {position}, and they did not come "
            f"to it within {wait_s:g} s: see whether the follower runs and keeps up"
        )
        return [late]
    return []


def seen_in_log(address: Address) -> SeenLog:
    """Return the facts of the log, and its leader if one beats within a second.

    Raises LogUnavailableError soon if the broker is away or hangs.
    """
    with closing(log_of(address)) as log:
        log.ends(Topic.EVENTS, AWAY_S)
        created = genesis(log)
        position = last_position(log, created.domain)
        end = log.ends(Topic.EVENTS)[1]
        with closing(log.reader(Topic.BEATS, log.ends(Topic.BEATS)[1])) as beats:
            leader = leader_heard(beats, BEAT_WAIT_S)
        look = looked_at(log, address)
        return SeenLog(Token(created.ledger, created.domain, 0), position, end, leader, look)


def genesis(log: Log) -> LedgerCreated:
    """Return the identity of the ledger; raises LedgerDownError if no sequencer ever led it."""
    try:
        return read_genesis(log, AWAY_S)
    except SettingsError as problem:
        raise LedgerDownError(str(problem)) from problem


def leader_heard(beats: LogReader, wait_s: float) -> dict[str, Any] | None:
    """Return the content of the leader's next beat, None if no beat comes in time.

    Other records are skipped, as standbys do.
    """
    from ledger.log.other_topics import beat_epoch  # noqa: PLC0415 - a command loads what it uses

    until_s = monotonic() + wait_s
    while (left_s := until_s - monotonic()) > 0:
        for record in beats.read(READ_MAX, left_s):
            if beat_epoch(record.value) > 0:
                found: dict[str, Any] = json.loads(record.value)
                return found
    return None
