"""A change that comes again under its key is made once, and answered alike."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from ledger.config.settings import WebSettings
from ledger.testing import InMemoryLedger
from projections.iceberg.errors import IcebergRefusal
from projections.web.iceberg.repeats import KeptAnswers, SentAnswer
from tests.iceberg.door.doors import Door, answering, tokens_in

ASKED = {"namespace": ["db"], "properties": {"a": "1"}}


def keyed(key: str | None = None) -> dict[str, str]:
    return {"Idempotency-Key": key or str(uuid4())}


def test_the_same_request_is_answered_alike(door: Door) -> None:
    key = keyed()
    first, second = (door.post("namespaces", ASKED, key) for _ in range(2))

    assert first.status == 200
    assert (second.status, second.form) == (first.status, first.form)
    assert door.post("namespaces", ASKED).error == (409, "AlreadyExistsException")


def test_a_final_refusal_is_answered_alike(door: Door) -> None:
    door.ledger.create_namespace("db")
    key = keyed()
    assert door.post("namespaces", ASKED, key).error[0] == 409
    door.ledger.drop_namespace("db")

    assert door.post("namespaces", ASKED, key).error[0] == 409
    assert door.post("namespaces", ASKED, keyed()).status == 200


def test_a_key_belongs_to_one_request(door: Door) -> None:
    key = keyed()
    door.post("namespaces", ASKED, key)

    other = (422, "UnprocessableEntityException")
    assert door.post("namespaces", {"namespace": ["other"]}, key).error == other
    assert door.ask("namespaces/db", "DELETE", headers=key).error == other
    assert door.ask("namespaces/db").status == 200


def test_a_key_belongs_to_one_user(memory: InMemoryLedger, tmp_path: Path) -> None:
    headers = tokens_in(tmp_path / "tokens", ada=True, etl=True)
    with answering(memory, tmp_path, doors=WebSettings(tmp_path / "tokens")) as door:
        key = keyed()
        assert door.post("namespaces", ASKED, {**headers["ada"], **key}).status == 200
        assert door.post("namespaces", ASKED, {**headers["etl"], **key}).error[0] == 409


@pytest.mark.parametrize(
    "key", ["", "x", "1" * 36, "{01890a5d-ac96-774b-bcce-b302099a8057}", "a" * 5_000]
)
def test_a_key_must_be_a_uuid(door: Door, key: str) -> None:
    found = door.post("namespaces", ASKED, {"Idempotency-Key": key})
    assert found.error == (400, "BadRequestException")
    assert list(door.ledger.namespaces()) == []


class Work:
    """Work that counts how often it was done, and goes on when it is let go."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.done = list(statuses), 0
        self.let_go = asyncio.Event()

    async def __call__(self) -> SentAnswer:
        self.done += 1
        await self.let_go.wait()
        return SentAnswer(self.statuses.pop(0), {"etag": "x"}, b"body")


def test_a_request_that_comes_meanwhile_waits_for_the_first() -> None:
    async def both() -> tuple[int, list[SentAnswer]]:
        kept, work, key = KeptAnswers(), Work(200), str(uuid4())
        asked = [asyncio.ensure_future(kept.once(None, key, b"d", work)) for _ in range(2)]
        work.let_go.set()
        return work.done, await asyncio.gather(*asked)

    done, (first, second) = asyncio.run(both())
    assert first == second == SentAnswer(200, {"etag": "x"}, b"body")
    assert done <= 1


def test_work_goes_on_without_the_client_that_asked() -> None:
    async def gone() -> tuple[SentAnswer, int]:
        kept, work, key = KeptAnswers(), Work(200), str(uuid4())
        first = asyncio.ensure_future(kept.once(None, key, b"d", work))
        while not work.done:
            await asyncio.wait([first], timeout=0.001)
        first.cancel()
        work.let_go.set()
        return await kept.once(None, key, b"d", work), work.done

    answer, done = asyncio.run(gone())
    assert (answer.status, done) == (200, 1)


def test_an_answer_that_is_not_final_is_not_kept() -> None:
    async def again() -> tuple[list[int], int]:
        kept, work, key = KeptAnswers(), Work(503, 500, 204), str(uuid4())
        work.let_go.set()
        found = [(await kept.once(None, key, b"d", work)).status for _ in range(4)]
        return found, work.done

    assert asyncio.run(again()) == ([503, 500, 204, 204], 3)


def test_work_that_fails_leaves_no_key_behind() -> None:
    async def broken() -> SentAnswer:
        raise RuntimeError

    async def again() -> int:
        kept, key = KeptAnswers(), str(uuid4())
        with pytest.raises(RuntimeError):
            await kept.once(None, key, b"d", broken)
        return len(kept)

    assert asyncio.run(again()) == 0


def test_answers_are_bounded_in_number_bytes_and_age() -> None:
    async def many(kept: KeptAnswers, size: int) -> tuple[int, int]:
        async def work() -> SentAnswer:
            return SentAnswer(200, {}, bytes(range(256)) * size)

        for _ in range(50):
            await kept.once(None, str(uuid4()), b"d", work)
        return len(kept), kept._bytes  # noqa: SLF001 - what is bounded

    assert asyncio.run(many(KeptAnswers(answers_max=10), 1))[0] == 10
    number, size = asyncio.run(many(KeptAnswers(bytes_max=3_000), 1))
    assert 0 < number < 50
    assert size <= 3_000
    seconds = iter(float(number) for number in range(10_000))
    number, _ = asyncio.run(many(KeptAnswers(5.0, clock=lambda: next(seconds)), 1))
    assert number < 5


def test_a_key_of_another_request_is_refused_while_that_is_under_way() -> None:
    async def both() -> None:
        kept, work, key = KeptAnswers(), Work(200), str(uuid4())
        first = asyncio.ensure_future(kept.once(None, key, b"d", work))
        while not work.done:
            await asyncio.wait([first], timeout=0.001)
        with pytest.raises(IcebergRefusal, match="another request"):
            await kept.once(None, key, b"e", work)
        work.let_go.set()
        await first

    asyncio.run(both())
