"""Traces: one for each txn, over all processes that its commands pass, and no byte in the log."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Final

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from ledger.client import Ledger
from ledger.errors import ConflictError, SettingsError
from ledger.testing import InMemoryLedger
from ledger.tracing import switch_off, switch_on
from tests.integration.commands import environment, up

PATIENCE_S: Final = 60.0
STEPS: Final = {"decide": "command", "append": "decide", "apply": "decide"}
UNTRACED: Final = """
import sys
from ledger.testing import InMemoryLedger
with InMemoryLedger() as memory:
    ledger = memory.connect()
    ledger.create_table("t", [("a", "INT")])
    ledger.append("t", ["f"])
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
TRACED: Final = """
from ledger.client import Ledger
with Ledger.connect() as ledger:
    ledger.create_table("t", [("a", "INT")])
    ledger.wait(ledger.append("t", ["f"]).position, 30)
"""


@contextmanager
def kept(**environ: str) -> Iterator[InMemorySpanExporter]:
    """Trace while the block runs, and keep the spans."""
    exporter = InMemorySpanExporter()
    switch_on(None, SimpleSpanProcessor(exporter), environ=environ)
    try:
        yield exporter
    finally:
        switch_off()


@pytest.fixture
def memory() -> Iterator[InMemoryLedger]:
    with InMemoryLedger() as memory:
        yield memory


@pytest.fixture
def ledger(memory: InMemoryLedger) -> Ledger:
    return memory.connect()


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.trace_id)


def names(spans: Sequence[ReadableSpan]) -> list[str]:
    return sorted(span.name for span in spans)


def spans_of(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    """Return the spans of the trace in which the last span of a name is."""
    spans = exporter.get_finished_spans()
    trace = next(trace_of(span) for span in reversed(spans) if span.name == name)
    return [span for span in spans if trace_of(span) == trace]


def test_a_verb_its_command_its_decision_and_its_row_are_one_trace(
    memory: InMemoryLedger, ledger: Ledger
) -> None:
    ledger.create_table("t", [("a", "INT")])
    with kept() as exporter:
        ledger.append("t", ["f"])
        ledger.reads().position()
        memory.leader.wait_rounds(2)
        found = spans_of(exporter, "Ledger.append")
    by_name = {span.name: span for span in found}

    assert names(found) == [*("Ledger.append", "append", "apply", "command CommitTxn", "decide")]
    own = {name: span.context.span_id for name, span in by_name.items() if span.context}
    parents = {name: span.parent.span_id for name, span in by_name.items() if span.parent}
    assert parents == {
        "command CommitTxn": own["Ledger.append"],
        "decide": own["command CommitTxn"],
        "append": own["decide"],
        "apply": own["decide"],
    }
    position = {dict(span.attributes or {}).get("lakeledger.position") for span in found} - {None}
    assert len(position) == 1


def test_all_commands_of_a_txn_are_one_trace_and_two_txns_are_two(ledger: Ledger) -> None:
    ledger.create_table("t", [("a", "INT")])
    with kept() as exporter:
        for name in ("one", "other"):
            with ledger.transaction() as txn:
                txn.add_files("t", [name])
        found = spans_of(exporter, "Transaction.commit")
        spans = exporter.get_finished_spans()
    commands = [name for name in names(found) if name.startswith("command")]

    assert commands == ["command CommitTxn", "command OpenTxn"]
    assert len({trace_of(span) for span in spans if span.name == "Transaction.commit"}) == 2


def test_the_span_of_a_statement_holds_the_spans_of_its_txn(
    memory: InMemoryLedger, tmp_path: Path
) -> None:
    ledger = memory.connect(warehouse=tmp_path)
    ledger.create_table("t", [{"a": 1}])
    with kept() as exporter:
        ledger.update("t", {"a": "2"})
        memory.leader.wait_rounds(2)
        own = {
            span.context.span_id: span
            for span in spans_of(exporter, "Ledger.update")
            if span.context is not None
        }
    above = {span.name: own[span.parent.span_id].name for span in own.values() if span.parent}

    assert above["Transaction.commit"] == "Ledger.run"
    assert above["Ledger.run"] == "Ledger.update"
    assert above["command OpenTxn"] == "Ledger.run"
    assert above["command CommitTxn"] == "Transaction.commit"
    assert [span.name for span in own.values() if not span.parent] == ["Ledger.update"]


def test_a_lost_conflict_is_an_error_of_its_verb_and_its_command(ledger: Ledger) -> None:
    ledger.create_table("t", [("a", "INT")])
    files = ["f"]
    ledger.append("t", files)
    with kept() as exporter, suppress(ConflictError), ledger.transaction() as txn:
        txn.read("t")
        txn.remove_files("t", files)
        with ledger.transaction() as winner:
            winner.read("t")
            winner.remove_files("t", files)
    found = {span.name: span for span in spans_of(exporter, "Transaction.commit")}

    assert found["Transaction.commit"].status.status_code is StatusCode.ERROR
    assert found["command CommitTxn"].status.description == "conflict"


def test_a_program_with_a_span_of_its_own_and_the_verb_link_to_each_other(ledger: Ledger) -> None:
    ledger.create_table("t", [("a", "INT")])
    tracer = TracerProvider().get_tracer("program")
    with kept() as exporter, tracer.start_as_current_span("request") as request:
        ledger.append("t", ["f"])
        (verb,) = (span for span in exporter.get_finished_spans() if span.name == "Ledger.append")
    assert isinstance(request, ReadableSpan)

    assert [link.context for link in verb.links] == [request.get_span_context()]
    assert [link.context for link in request.links] == [verb.context]


def test_all_processes_keep_the_same_share_of_traces(ledger: Ledger) -> None:
    ledger.create_table("t", [("a", "INT")])
    half = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"}
    with kept(**half) as exporter:
        for number in range(40):
            ledger.append("t", [f"f{number}"])
        spans = exporter.get_finished_spans()
    traces = [
        {trace_of(span) for span in spans if span.name == name}
        for name in ("Ledger.append", "command CommitTxn", "decide")
    ]

    assert traces[0] == traces[1] == traces[2]
    assert 0 < len(traces[0]) < 40


def test_a_collector_must_be_a_url() -> None:
    with pytest.raises(SettingsError, match="URL of an OTLP collector, got 'collector:4318'"):
        switch_on("collector:4318")


def test_a_sampler_that_is_not_obeyed_is_refused() -> None:
    with pytest.raises(SettingsError, match="must be always_on, always_off or traceidratio"):
        switch_on("http://127.0.0.1:9", environ={"OTEL_TRACES_SAMPLER": "jaeger_remote"})


def test_a_process_that_traces_nothing_loads_nothing_for_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNTRACED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


class Collector(ThreadingHTTPServer):
    """Takes spans as OTLP over HTTP."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exported)
        self.spans: list[tuple[str, str, Any]] = []
        self.changed = Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Exported(BaseHTTPRequestHandler):
    """Takes one batch."""

    server: Collector

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        found = ExportTraceServiceRequest.FromString(data)
        with self.server.changed:
            for process in found.resource_spans:
                said = {pair.key: pair.value.string_value for pair in process.resource.attributes}
                self.server.spans += [
                    (self.path, said["service.instance.id"], span)
                    for scope in process.scope_spans
                    for span in scope.spans
                ]
            self.server.changed.notify_all()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[Collector]:
    with Collector() as collector:
        thread = Thread(target=collector.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


@pytest.mark.integration
def test_a_collector_gets_the_spans_by_otlp_at_the_latest_at_the_end(ledger: Ledger) -> None:
    ledger.create_table("t", [("a", "INT")])
    with collecting() as collector:
        switch_on(collector.url)
        ledger.append("t", ["f"])
        switch_off()
        found = {span.name: span for _, _, span in collector.spans}

    assert {path for path, _, _ in collector.spans} == {"/v1/traces"}
    assert found["decide"].trace_id == found["Ledger.append"].trace_id


@pytest.mark.kafka
def test_client_sequencer_and_follower_make_one_trace_in_three_processes(tmp_path: Path) -> None:
    with collecting() as collector:
        traced = {"LAKELEDGER_TRACE": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}
        with up(tmp_path, **traced):
            program, environ = [sys.executable, "-c", TRACED], {**environment(tmp_path), **traced}
            subprocess.run(program, env=environ, check=True)
            with collector.changed:
                assert collector.changed.wait_for(lambda: steps_of(collector), PATIENCE_S)

    assert {role.partition("-")[0] for role in steps_of(collector).values()} == {
        *("client", "sequencer", "follower")
    }


def steps_of(collector: Collector) -> dict[str, str]:
    """Return the process of each span of the append, by its name, {} while one is missing."""
    verbs = [span for _, _, span in collector.spans if span.name == "Ledger.append"]
    found = {
        span.name: role
        for _, role, span in collector.spans
        if verbs and span.trace_id == verbs[0].trace_id
    }
    return found if {"command CommitTxn", *STEPS} <= found.keys() else {}
