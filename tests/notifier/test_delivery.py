"""A delivery: in order, at least once, from where it was; and alone with a receiver that fails."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ledger.client import Ledger
from ledger.config.settings import NotifierSettings
from ledger.errors import SettingsError
from ledger.log.memory import MemoryLog
from ledger.log.port import LogWriter, Topic
from ledger.testing import InMemoryLedger
from projections.notifier.notifier import Notifier, deliveries_of
from projections.notifier.receivers import DeliveryError, FileReceiver, WebReceiver
from projections.web.roles.notifier import serve_notifier
from tests.notifier.receiving import PATIENCE_S, Desk, Running, delivery, desk
from tests.web.served import Served, samples

JSON = "application/json"
ANYWHERE = NotifierSettings(http="127.0.0.1:0")


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


def commits(ledger: Ledger, number: int) -> list[int]:
    """Commit some files, and return the positions."""
    return [ledger.append("t", [f"f{name}"]).position for name in range(number)]


def begun(memory: InMemoryLedger) -> tuple[Ledger, int]:
    ledger = memory.connect()
    return ledger, ledger.create_table("t", [("a", "INT")]).created


def web(server: Desk) -> WebReceiver:
    return WebReceiver(server.url, JSON)


def test_a_receiver_gets_each_commit_once_and_in_order(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger, created = begun(memory)
    before = commits(ledger, 3)
    with desk() as server:
        running = Running(memory.log, delivery(web(server), tmp_path))
        server.wait_for(4)
        after = commits(ledger, 2)
        taken = server.wait_for(6)
        running.end()

    assert taken == [created, *before, *after]


def test_a_message_that_is_refused_is_sent_again_before_the_next_one(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger, created = begun(memory)
    positions = commits(ledger, 2)
    with desk([204, 503, 500]) as server:
        running = Running(memory.log, teller := delivery(web(server), tmp_path))
        taken = server.wait_for(3)
        running.end()

    assert taken == [created, *positions]
    assert server.refused == [positions[0]] * 2
    assert (teller.delivered, teller.refused, teller.problem) == (3, 2, "")


def test_a_restart_goes_on_behind_what_the_receiver_has(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger, created = begun(memory)
    with desk() as server:
        running = Running(memory.log, delivery(web(server), tmp_path))
        server.wait_for(1)
        running.end()
        positions = commits(ledger, 2)
        running = Running(memory.log, delivery(web(server), tmp_path))
        taken = server.wait_for(3)
        running.end()

    assert taken == [created, *positions]


def test_what_a_receiver_did_not_take_before_a_restart_comes_behind_it(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger, created = begun(memory)
    positions = commits(ledger, 2)
    with desk([204, *[503] * 1000]) as server:
        running = Running(memory.log, teller := delivery(web(server), tmp_path, pause_s=0.001))
        with server.changed:
            assert server.changed.wait_for(lambda: len(server.refused) > 2, PATIENCE_S)
        assert "503" in teller.problem
        running.end()
        server.answers.clear()
        running = Running(memory.log, delivery(web(server), tmp_path))
        taken = server.wait_for(4)
        running.end()

    assert taken[-3:] == [created, *positions]


def test_a_first_start_tells_nothing_of_the_past_unless_it_is_to(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger, _ = begun(memory)
    commits(ledger, 2)
    with desk() as server:
        teller = delivery(web(server), tmp_path, from_first=False)
        running = Running(memory.log, teller)
        running.wait_for(lambda: teller.is_caught_up)
        (position,) = commits(ledger, 1)
        taken = server.wait_for(1)
        running.end()

    assert taken == [position]


def test_a_place_of_a_log_that_lost_its_end_is_made_anew_behind_what_was_told(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger, created = begun(memory)
    positions = commits(ledger, 3)
    with desk() as server:
        running = Running(memory.log, delivery(web(server), tmp_path))
        server.wait_for(4)
        running.end()
        assert isinstance(memory.log, MemoryLog)
        short = MemoryLog(memory.clock.now_ms)
        records = memory.log.topics[Topic.EVENTS].records
        for record in records[:-1]:
            writer = short.writer(Topic.EVENTS)
            writer.append(record.key, record.value)
        teller = delivery(web(server), tmp_path)
        running = Running(short, teller)
        running.wait_for(lambda: teller.is_caught_up)
        running.end()

    assert server.taken == [created, *positions]


def test_a_receiver_that_is_away_holds_up_no_other_one(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger, _ = begun(memory)
    positions = commits(ledger, 2)
    lines = tmp_path / "lineage.jsonl"
    settings = NotifierSettings(
        webhook="http://127.0.0.1:9/away", openlineage=str(lines), from_first=True, http="off"
    )
    notifier = Notifier(list(deliveries_of(settings, tmp_path, "lake", no_writer)))
    running = Running(memory.log, notifier)
    lineage, away = notifier.deliveries
    running.wait_for(lambda: lineage.position >= positions[-1] and bool(away.problem))
    with_lines = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    server = Served(serve_notifier(notifier, ANYWHERE))
    metrics, ready = samples(server), server.ask("/readyz").form
    server.close()
    running.end()
    notifier.close()

    assert len(with_lines) == 3
    assert (notifier.position, away.delivered) == (0, 0)
    assert metrics["lakeledger_notifier_refusing webhook"] == 1
    assert metrics["lakeledger_notifier_delivered_total openlineage"] == 3
    assert metrics["lakeledger_notifier_lag_positions"] > 0
    assert "127.0.0.1:9/away does not answer" in ready["checks"]["receivers"]["detail"]
    assert (ready["role"], ready["checks"]["receivers"]["status"]) == ("notifier", "UP")


def no_writer(topic: str, _headers: Mapping[str, str]) -> LogWriter:
    raise AssertionError(f"no delivery writes to {topic}")


def test_a_file_loses_the_part_of_a_line_that_a_killed_notifier_left(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b'{"a": 1}\n{"b": ')
    receiver, left = FileReceiver(file), deque([b'{"c": 3}', b"4"])
    receiver.deliver(left)
    receiver.deliver(deque([b"5"]))
    receiver.close()

    assert (file.read_bytes(), left) == (b'{"a": 1}\n{"c": 3}\n4\n5\n', deque())


def test_a_file_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    left = deque([b"1"])
    with pytest.raises(DeliveryError, match="cannot be written"):
        FileReceiver(tmp_path / "absent" / "lines").deliver(left)

    assert left == deque([b"1"])


def test_a_token_is_shown_to_a_receiver(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n", encoding="utf-8")
    token.chmod(0o600)
    with desk() as server:
        WebReceiver(server.url, JSON, token).deliver(deque([b"1"]))

    assert server.headers[0]["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (NotifierSettings(), "set notifier.webhook, notifier.topic or notifier.openlineage"),
        (NotifierSettings(webhook="lake"), "must be an http:// or https:// URL, got 'lake'"),
    ],
)
def test_a_notifier_without_a_receiver_does_not_start(
    settings: NotifierSettings, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=said):
        list(deliveries_of(settings, tmp_path, "lake", no_writer))
