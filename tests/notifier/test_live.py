"""A notifier of a real ledger: `lakeledger up` runs it, and a topic of Kafka is a receiver."""

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_structured
from cloudevents.core.formats.json import JSONFormat
from confluent_kafka import Consumer, TopicPartition
from urllib3 import PoolManager

from ledger.client import Ledger
from ledger.machine.process import ExitCode
from ledger.machine.secured import Secured
from ledger.reads.remote.web_login import WebLogin
from projections.queries import open_reads
from tests.integration.commands import answer_of, environment, starting
from tests.notifier.receiving import PATIENCE_S, Desk, desk

pytestmark = pytest.mark.kafka

TOPIC = "lake.told"
FILES = 3
WEBHOOK = "LAKELEDGER_NOTIFIER__WEBHOOK"
TO_TOPIC = "LAKELEDGER_NOTIFIER__TOPIC"
LINEAGE = "LAKELEDGER_NOTIFIER__OPENLINEAGE"
WORK = """
from ledger import Ledger
with Ledger.connect() as ledger:
    ledger.create_table("t", [("a", "INT")])
"""
DELIVERED = 'lakeledger_notifier_delivered_total{receiver="topic"} 1.0'


def told_in(bootstrap: str, number: int, **login: Any) -> list[Any]:
    """Return the first messages of the topic."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "told", **login}
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        messages = consumer.consume(number, PATIENCE_S)
    assert [message.error() for message in messages] == [None] * number
    return [read(message) for message in messages]


def read(message: Any) -> Any:
    """Return the event in a message, as the binding of CloudEvents for Kafka reads it."""
    given = KafkaMessage(dict(message.headers()), message.key(), message.value())
    event = from_structured(given, JSONFormat())
    assert (message.key().decode(), event.get_extension("partitionkey")) == ("lake", "lake")
    return {"id": event.get_id()}


def test_up_runs_a_notifier_that_tells_all_receivers_also_after_a_restart(tmp_path: Path) -> None:
    lines, home, positions = tmp_path / "lineage.jsonl", tmp_path / "home", list[int]()
    with desk() as server:
        told = {WEBHOOK: server.url, TO_TOPIC: TOPIC, LINEAGE: str(lines)}
        for number in (1, 2):
            with starting(home, **told) as command:
                command.wait_for("starting sequencer-1, sequencer-2, follower, notifier")
                command.wait_for("Ctrl-C stops it all")
                address = answer_of(home, "status")["bootstrap"]
                with (
                    closing(open_reads(home / "lake" / "store")) as reads,
                    Ledger.connect(address, "lake", reads=reads) as ledger,
                ):
                    if number == 1:
                        positions.append(ledger.create_table("t", [("a", "INT")]).created)
                    positions.append(ledger.append("t", [f"f{number}"]).position)
                webhook = server.wait_for(len(positions))
                topic = told_in(address, len(positions))
                assert command.end(signal.SIGTERM) == ExitCode.DONE

    assert [int(event["id"]) for event in webhook] == positions
    assert [int(event["id"]) for event in topic] == positions
    events = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert [event["eventType"] for event in events] == ["COMPLETE"] * 3
    assert server.headers[0]["content-type"] == "application/cloudevents+json; charset=utf-8"


def test_a_notifier_that_is_killed_in_a_batch_tells_all_of_it_again_in_order(
    tmp_path: Path,
) -> None:
    with desk() as server, starting(tmp_path, **{WEBHOOK: server.url}) as command:
        command.wait_for("Ctrl-C stops it all")
        with Ledger.connect(answer_of(tmp_path, "status")["bootstrap"], "lake") as ledger:
            created = ledger.create_table("t", [("a", "INT")])
            server.wait_for(1)
            server.answers += [204, *[503] * 1000]
            receipts = [ledger.append(created, [f"f{name}"]) for name in range(FILES)]
        with server.changed:
            assert server.changed.wait_for(lambda: server.refused, PATIENCE_S)
        (notifier,) = (role for role in command.children() if "notifier" in role.cmdline())
        notifier.kill()
        server.answers.clear()
        positions = [created.created, *(receipt.position for receipt in receipts)]
        with server.changed:
            assert server.changed.wait_for(lambda: ids(server)[-1] == positions[-1], PATIENCE_S)
        assert command.end(signal.SIGTERM) == ExitCode.DONE

    assert sorted(set(ids(server))) == positions
    assert ids(server)[-FILES:] == positions[-FILES:]


def ids(server: Desk) -> list[int]:
    return [int(event["id"]) for event in server.taken]


@pytest.mark.slow
def test_a_secured_ledger_lets_its_notifier_write_the_topic(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed; it is in [secure]")
    secure = Secured(tmp_path / "lake")
    with starting(tmp_path, "--secure", **{TO_TOPIC: TOPIC}) as command:
        url = command.wait_for("sequencers, notifier and ingests at").split()[-1]
        command.wait_for("Ctrl-C stops it all")
        subprocess.run([sys.executable, "-c", WORK], env=environment(tmp_path), check=True)
        login, until_s = WebLogin(secure.token, secure.ca), monotonic() + PATIENCE_S
        with PoolManager(**login.pool_settings(url)) as pool:
            metrics = ""
            while DELIVERED not in metrics:
                assert monotonic() < until_s, metrics
                answer = pool.request("GET", f"{url}/metrics", headers=login.headers(url))
                metrics = answer.data.decode()
        assert command.end(signal.SIGTERM) == ExitCode.DONE
