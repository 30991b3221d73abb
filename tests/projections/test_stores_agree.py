"""Both adapters hold the same rows after any history of batches, scans, restarts and rebuilds."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from projections.store.memory import MemoryStore
from projections.store.port import KEYS_END, RowReader
from projections.store.rocks_reader import RocksReader
from projections.store.rocks_store import RocksStore
from tests.projections.digests import digest

# Few and short, so that batches meet the same keys and prefixes again and again.
KEYS = st.binary(min_size=1, max_size=3).filter(lambda key: key < KEYS_END)
KEYS |= st.sampled_from([b"a", b"a\x00", b"a\xff", b"b"])
BATCHES = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=40)), max_size=30)
BOUNDS = KEYS | st.just(b"") | st.just(KEYS_END)


class StoresAgree(RuleBasedStateMachine):
    """The store in memory is the model, the one on disk is what is tested."""

    @initialize()
    def begin(self) -> None:
        """Make two empty stores and a reader of each."""
        self.folder = TemporaryDirectory()
        self.root = Path(self.folder.name) / "store"
        self.model = MemoryStore()
        self.model_reader = self.model.reader()
        self.store = RocksStore.open(self.root)
        self.reader = RocksReader.open(self.root)

    def teardown(self) -> None:
        """Close what is open and remove the files."""
        self.reader.close()
        self.store.close()
        self.folder.cleanup()

    @rule(batch=BATCHES)
    def write(self, batch: list[tuple[bytes, bytes | None]]) -> None:
        self.model.write(batch)
        self.store.write(batch)

    @rule(start=BOUNDS, end=BOUNDS, limit=st.none() | st.integers(0, 20), reverse=st.booleans())
    def scan(self, start: bytes, end: bytes, limit: int | None, *, reverse: bool) -> None:
        def rows(of: RowReader) -> list[tuple[bytes, bytes]]:
            return list(of.scan(start, end, limit=limit, reverse=reverse))

        assert rows(self.store) == rows(self.model)
        assert rows(self.reader) == rows(self.model_reader)

    @rule(key=KEYS)
    def get(self, key: bytes) -> None:
        assert self.store.get(key) == self.model.get(key)
        assert self.reader.get(key) == self.model_reader.get(key)

    @rule()
    def refresh(self) -> None:
        self.model_reader.refresh()
        self.reader.refresh()

    @rule()
    def restart(self) -> None:
        """Close the store on disk, which flushes it to a table, and open it again."""
        self.store.close()
        self.store = RocksStore.open(self.root)

    @rule()
    def rebuild(self) -> None:
        """Write all rows to a new generation and publish it."""
        self.store.close()
        self.store = RocksStore.rebuild(self.root)
        self.store.write(list(self.model.scan(b"", KEYS_END)))
        self.store.publish()

    @rule()
    def checkpoint(self) -> None:
        """Copy the store on disk and go on with the copy's rows to compare."""
        copy = Path(self.folder.name) / "copy"
        self.store.checkpoint(copy)
        with RocksStore.open(copy) as store:
            assert digest(store) == digest(self.model)

    @invariant()
    def stores_agree(self) -> None:
        """Equal rows, at every step."""
        assert digest(self.store) == digest(self.model)


TestStoresAgree = StoresAgree.TestCase
TestStoresAgree.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
