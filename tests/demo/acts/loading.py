"""Loading: four producers fill the table while the leader dies, one is killed, and one gives up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ledger.reads.port import TableRow
from tests.demo.acts.fleet import Fleet
from tests.demo.acts.manifest import ManifestEntry, read_manifests, with_step
from tests.demo.acts.producer import Job
from tests.demo.acts.reader import HeldReader
from tests.demo.flights import Day, shares
from tests.demo.report import Report, wait_until
from tests.demo.stage import Kill, Stage, now_ms

PRODUCERS: Final = tuple(f"producer-{number}" for number in range(1, 5))
GIVES_UP: Final = "producer-2"
GIVES_UP_AT: Final = 60
IS_KILLED: Final = "producer-3"
# Long after the reader has begun, which must not see the txn that the kill leaves open.
IS_KILLED_AT: Final = 60
STANDS_BY: Final = "producer-5"
# Shares of all days at which the snapshot is taken and the leader is killed. Every producer must be
# at work then: the others finish the rest in less time than the start of a producer takes.
SNAPSHOT_SHARE: Final = 0.2
LEADER_SHARE: Final = 0.55


@dataclass(frozen=True, slots=True)
class Load:
    """What happened while loading.

    Attributes:
        reader: the reader that read meanwhile, and still holds its snapshot.
        left_open: the last entry of the killed producer.
        killed_ms: when it was killed, in milliseconds since 1970.
        kill: the end of the leader.
    """

    reader: HeldReader
    left_open: ManifestEntry
    killed_ms: int
    kill: Kill


class Loader:
    """Loads all days into one table."""

    def __init__(
        self, stage: Stage, fleet: Fleet, report: Report, table: TableRow, days: Sequence[Day]
    ) -> None:
        self._stage = stage
        self._report = report
        self._table = table
        self._shares = dict(zip(PRODUCERS, shares(days, len(PRODUCERS)), strict=True))
        self._days = len(days)
        self._fleet = fleet

    def run(self) -> Load:
        """Load all days; by then the reader has stopped reading, and still holds its snapshot."""
        for name, share in self._shares.items():
            self._fleet.give(self._job(name, share))
        with self._hold_snapshot() as reader:
            kill = self._kill_leader()
            left_open, killed_ms = self._kill_producer()
            waited_s = wait_until(lambda: self._fleet.is_done, "every producer is done")
        self._report.say(f"every day is committed, {waited_s:.1f} s later")
        return Load(reader, left_open, killed_ms, kill)

    def _hold_snapshot(self) -> HeldReader:
        self._wait_for_commits(SNAPSHOT_SHARE)
        txn = self._stage.ledger.begin("read_only")
        reader = HeldReader(txn, self._table, self._stage.home.location)
        self._report.say(
            f"a reader opens txn {txn.id} and holds its snapshot: {txn.valid_txns.text()}"
        )
        return reader

    def _kill_producer(self) -> tuple[ManifestEntry, int]:
        def wrote() -> list[ManifestEntry]:
            return with_step([each for each in self._told() if each.producer == IS_KILLED], "wrote")

        wait_until(lambda: len(wrote()) > IS_KILLED_AT, f"{IS_KILLED} is in its last txn")
        left_open = wrote()[-1]
        killed_ms = now_ms()
        pid = self._fleet.kill(IS_KILLED)
        self._report.say(
            f"kill -9 {IS_KILLED} ({pid}) in txn {left_open.txn}: its files are written under "
            f"write id {left_open.write_id}, it has not committed"
        )
        done = {each.date for each in with_step(self._told(), "committed")}
        rest = [day for day in self._shares[IS_KILLED] if day not in done]
        self._fleet.give(self._job(STANDS_BY, rest))
        self._report.say(f"{STANDS_BY} takes over its {len(rest)} days")
        return left_open, killed_ms

    def _kill_leader(self) -> Kill:
        self._wait_for_commits(LEADER_SHARE)
        kill = self._stage.kill_leader()
        self._report.say(f"kill -9 {kill.sequencer}, which leads, under full load")
        return kill

    def _wait_for_commits(self, share: float) -> None:
        wanted = round(share * self._days)

        def committed() -> bool:
            self._fleet.check()
            return len(with_step(self._told(), "committed")) >= wanted

        wait_until(committed, f"{wanted} days are committed")

    def _told(self) -> list[ManifestEntry]:
        return read_manifests(self._stage.home.manifests)

    def _job(self, name: str, days: Sequence[Day]) -> Job:
        address, home = self._stage.up.address, self._stage.home
        return Job(
            name,
            address.bootstrap,
            address.ledger,
            str(address.store),
            self._table.table,
            str(home.flights),
            str(home.manifests),
            days,
            abort_at=GIVES_UP_AT if name == GIVES_UP else None,
            hold_at=IS_KILLED_AT if name == IS_KILLED else None,
        )
