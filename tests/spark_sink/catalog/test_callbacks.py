"""The server that the JVM asks: it answers the JVM, and no other process of the machine."""

import json
import socket
from typing import Any

import pytest
from pyspark.java_gateway import ensure_callback_server_started

from ledger.errors import SettingsError
from spark_sink import Lake, attach
from spark_sink.catalog.session.callbacks import serve_callbacks
from tests.spark_sink.catalog.sql import done, rows

pytestmark = pytest.mark.spark

PATIENCE_S = 20.0


def gateway_of(lake: Lake) -> Any:
    return lake.spark.sparkContext._gateway  # noqa: SLF001 - as the product does


def connected(lake: Lake) -> socket.socket:
    """Return a connection to the server, as any process of the machine can make it."""
    port = gateway_of(lake).get_callback_server().get_listening_port()
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S)


def answered(line: socket.socket) -> bytes:
    """Ask for a table to be dropped, without a token, and return the answer."""
    question = json.dumps({"catalog": "ledger", "table": "db.t"})
    try:
        with line:
            line.sendall(f"c\np0\napply\nsdrop\ns{question}\ne\n".encode())
            return line.recv(1 << 16)
    except ConnectionError:
        return b""


def test_no_token_no_answer(lake: Lake) -> None:
    done(lake, "CREATE TABLE ledger.db.t AS SELECT 1 AS id")
    assert answered(connected(lake)) == b""
    attach(lake.spark, lake.ledger)
    assert answered(connected(lake)) == b""
    assert rows(lake, "SELECT * FROM ledger.db.t") == [(1,)]


def test_a_server_without_a_token_demands_it_from_then_on(lake: Lake) -> None:
    done(lake, "CREATE TABLE ledger.db.t AS SELECT 1 AS id")
    gateway = gateway_of(lake)
    server = gateway.get_callback_server()
    server.callback_server_parameters.auth_token = None
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    early = connected(lake)
    serve_callbacks(gateway)
    assert answered(early) == b""
    assert answered(connected(lake)) == b""
    assert rows(lake, "SELECT * FROM ledger.db.t") == [(1,)]


def test_a_jvm_that_any_process_could_command_is_refused(lake: Lake) -> None:
    gateway = gateway_of(lake)
    token = gateway.gateway_parameters.auth_token
    gateway.gateway_parameters.auth_token = None
    try:
        with pytest.raises(SettingsError, match="must have a token"):
            serve_callbacks(gateway)
    finally:
        gateway.gateway_parameters.auth_token = token
