"""A domain with a metadata cache over it: what the tests of reading from caches look at."""

from ledger.core.commands import Property, TableDefinition, TableKind
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.reads.metadata import OBJECT_PREFIX, MetadataAnswer, TableMetadata
from projections.cache.entries.rows import BYTES_MAX, RowEntries
from projections.cache.following import FollowedEntries
from projections.cache.ports import Entries
from projections.cache.reads import MetadataCache
from projections.cache.store import RowMetadataStore
from projections.cache.topic.published import PublishedRows
from projections.cache.topic.remote import PublishedEntries
from tests.conformance.case_ledger import ManualClock
from tests.driver import CATALOG
from tests.projections.followed import Followed

Bounded = RowEntries | FollowedEntries

STATS = "stats:delay"


class Cached:
    """A domain with a session, a table `t`, and a cache of one kind over it."""

    def __init__(self, domain: Followed, entries: Entries, clock: ManualClock) -> None:
        self.domain = domain
        self.cache = MetadataCache(entries, RowMetadataStore(domain.reader), CATALOG, clock=clock)
        self.clock = clock
        self.session = domain.open_session()
        self.table = domain.create_table(self.session, "t", made=made("v0"))
        self.catch_up()

    def catch_up(self) -> int:
        """Let rows and cache reach the end of the log; return its position."""
        self.domain.follow()
        while self.cache.entries.position() < self.domain.head.position:
            self.cache.entries.advance(1.0)
        return self.domain.head.position

    def alter(self, word: str, *, txn: int = 0) -> int:
        altered = self.domain.alter_table(self.session, self.table, made(word), "ALTER", txn=txn)
        return altered.control.position

    def read(self, ids: str | None, **how: object) -> tuple[str | None, str, str]:
        """Read the table by name; return its location, where from and why."""
        answer = self.cache.read("t", listed(ids), **how)  # type: ignore[arg-type]
        return location(answer), answer.source, answer.reason


def made(word: str, kind: TableKind = "managed") -> TableDefinition:
    """Return a definition at a location of its own, with statistics beside it."""
    stats = Property(OBJECT_PREFIX + STATS, f"stats of {word}")
    return TableDefinition(kind, "listed", word, (), (), (stats,))


def altered_to(word: str, domain: Followed) -> int:
    """Let a new domain create table `t` and alter it once; return its id."""
    session = domain.open_session()
    table = domain.create_table(session, "t", made=made("v0"))
    domain.alter_table(session, table, made(word), "ALTER")
    domain.follow()
    return table


def listed(text: str | None) -> ValidWriteIdList | None:
    """Return the list `hwm:open ids`, of whatever table is read."""
    if text is None:
        return None
    hwm, _, ids = text.partition(":")
    still_open = tuple(int(each) for each in ids.split(",") if each)
    return ValidWriteIdList(None, int(hwm), still_open, (), still_open[0] if still_open else None)


def location(answer: MetadataAnswer) -> str | None:
    return answer.value.definition.location if isinstance(answer.value, TableMetadata) else None


def entries_of(kind: str, domain: Followed, bytes_max: int = BYTES_MAX) -> Bounded:
    if kind == "log":
        return FollowedEntries(domain.log, bytes_max=bytes_max).start()
    if kind == "topic":
        domain.publish()
        published = PublishedRows(domain.log)
        published.keep()
        return PublishedEntries(published, bytes_max=bytes_max)
    return RowEntries(domain.reader, bytes_max=bytes_max)
