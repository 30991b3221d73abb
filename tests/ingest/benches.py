"""A ledger in memory with an ingest of topics in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ledger.client import Ledger
from ledger.clock import Clock
from ledger.ingest.ingest import Ingest
from ledger.ingest.mapping import mapping_of
from ledger.ingest.values.avro import AvroSchemas
from ledger.ingest.values.formats import format_named
from ledger.testing import InMemoryLedger
from tests.ingest.topics import MemorySource, MemoryTopics

NAME = "shop"


class IngestBench:
    """Topics, a ledger, and the processes of one ingest."""

    def __init__(self, memory: InMemoryLedger, folder: Path) -> None:
        self.memory, self.folder, self.topics = memory, folder, MemoryTopics()
        self.ledger = self.connect()
        self.schemas: AvroSchemas | None = None

    def connect(self) -> Ledger:
        """Return a client, as of another process."""
        return self.memory.connect(warehouse=self.folder)

    def process(
        self,
        *topics: dict[str, Any],
        owns: bool = True,
        ledger: Ledger | None = None,
        clock: Clock | None = None,
        opened: list[MemorySource] | None = None,
    ) -> tuple[Ingest, MemorySource]:
        """Return a new process of the ingest, with all partitions, or with none yet.

        `opened` gets its source.
        """
        source = {} if self.schemas is None else {"schemas": "given"}
        batch = {"seconds": 0.001}
        mapping = mapping_of({"name": NAME, "topics": [*topics], "batch": batch, "source": source})
        made = [] if opened is None else opened

        def open_source(assignment: Any) -> MemorySource:
            made.append(MemorySource(self.topics, assignment))
            return made[0]

        client = ledger or self.connect()
        ingest = Ingest(
            client, mapping, open_source, lambda name: format_named(name, self.schemas), clock=clock
        )
        ingest.prepare()
        if owns:
            self.topics.give(made[0])
        return ingest, made[0]

    def drain(self, ingest: Ingest, rounds: int = 20) -> None:
        """Let a process work until it finds nothing more."""
        for _ in range(rounds):
            ingest.gather()
            if ingest.commit() is None and not ingest.tally.problem:
                return

    def rows(self, table: str, order: str = "id") -> Sequence[dict[str, Any]]:
        found: Sequence[dict[str, Any]] = self.ledger.scan(table).to_arrow().to_pylist()
        return sorted(found, key=lambda row: str(row[order]))
