"""Records become rows, each of them once."""

from typing import Any

from tests.ingest.benches import IngestBench

EVENTS: dict[str, Any] = {"topic": "events", "table": "db.events"}
USERS: dict[str, Any] = {"topic": "users", "table": "db.users", "key": ["id"]}


def line(number: int, name: str = "a") -> bytes:
    return f'{{"id": {number}, "name": "{name}"}}'.encode()


def made(bench: IngestBench, *names: str) -> None:
    for name in names or ("events",):
        bench.ledger.create_table(f"db.{name}", [("id", "BIGINT NOT NULL"), ("name", "STRING")])
        bench.topics.create(name)


def test_records_of_two_topics_and_their_offsets_are_one_commit(bench: IngestBench) -> None:
    made(bench, "events", "users")
    ingest, _ = bench.process(EVENTS, USERS)
    bench.drain(ingest)
    bench.topics.put("events", line(1))
    bench.topics.put("users", line(7), b"7")
    before = bench.memory.reads.position()

    ingest.gather()
    receipt = ingest.commit()

    assert receipt is not None
    assert len(receipt.versions) == 3
    assert [(row["id"], row["name"]) for row in bench.rows("db.events")] == [(1, "a")]
    assert [row["id"] for row in bench.rows("db.users")] == [7]
    assert before < receipt.position
