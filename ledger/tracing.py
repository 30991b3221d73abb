"""Traces: spans of OpenTelemetry from a client's verb over its command and its decision to the row.

No context travels with a command. Its event names the session, the number and the txn, and each
process derives the same trace from them: a trace is a txn, or a command whose event names none. So
a trace needs no header, no byte of the log, and no agreement between processes. A program that has
a span of its own links to the trace of its verb, and the verb links back.

Nothing is loaded or measured until `switch_on` was called.
"""

import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, Protocol, TypeVar

from ledger.errors import SettingsError
from ledger.log_lines import ROLE

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import SpanContext

TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8
PATH: Final = "/v1/traces"
RATIO: Final = "traceidratio"
NS_PER_MS: Final = 1_000_000
# Rows that are made anew are no part of what a client waited for.
AGE_MAX_NS: Final = 600 * 1_000_000_000

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Named(Protocol):
    """The control fields of an event by which its trace is known."""

    @property
    def session(self) -> int:
        """The session of the command."""

    @property
    def n(self) -> int:
        """The number of the command in its session."""

    @property
    def txn(self) -> int:
        """The txn, 0 = none."""

    @property
    def position(self) -> int:
        """The position of the event."""

    @property
    def at(self) -> int:
        """The time of the event in milliseconds."""


class Step(NamedTuple):
    """One span of a command: its name, its kind in OpenTelemetry, and the step that it follows."""

    name: str
    kind: str
    after: str


COMMAND: Final = Step("command", "CLIENT", "")
DECIDE: Final = Step("decide", "SERVER", "command")
APPEND: Final = Step("append", "PRODUCER", "decide")
APPLY: Final = Step("apply", "CONSUMER", "decide")


class Verb:
    """A call of a client under way: its span is made at its end, when its trace is known."""

    def __init__(self, name: str, outer: "Verb | None") -> None:
        self.name = name
        self.outer = outer
        self.span = number_of(secrets.token_bytes(SPAN_BYTES))
        self.began_ns = time.time_ns()
        self.trace = 0

    def join(self, trace: int) -> bool:
        """Take the trace of a command, and return whether it is the verb's own."""
        self.trace = self.trace or trace
        if self.outer is not None:
            self.outer.join(trace)
        return self.trace == trace


_verb: ContextVar[Verb | None] = ContextVar("lakeledger_verb", default=None)
_spans: "Spans | None" = None


class Spans:
    """Makes the spans of this process and hands them to a processor."""

    def __init__(self, processor: "SpanProcessor", ratio: float = 1.0) -> None:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415

        name = os.environ.get("OTEL_SERVICE_NAME") or "lakeledger"
        role = os.environ.get(ROLE, "client")
        self._processor, self._bound = processor, round(ratio * 2**64)
        self._scope = InstrumentationScope("lakeledger")
        self._resource = Resource.create({"service.name": name, "service.instance.id": role})

    def add(
        self,
        name: str,
        at: "SpanContext",
        parent: int,
        began_ns: int,
        attributes: dict[str, Any],
        *,
        kind: str = "INTERNAL",
        failed: str = "",
        link: "SpanContext | None" = None,
    ) -> None:
        """Add a span that ends now, unless its trace is not sampled."""
        from opentelemetry.sdk.trace import ReadableSpan  # noqa: PLC0415 - an extra
        from opentelemetry.trace import Link, SpanKind, Status, StatusCode  # noqa: PLC0415

        # As OpenTelemetry does, by the trace: all processes keep the same traces.
        if at.trace_id & (2**64 - 1) >= self._bound:
            return
        now_ns = time.time_ns()
        span = ReadableSpan(
            name,
            context=at,
            parent=context_of(at.trace_id, parent) if parent else None,
            resource=self._resource,
            attributes=attributes,
            links=[Link(link)] if link is not None else (),
            kind=SpanKind[kind],
            status=Status(StatusCode.ERROR, failed) if failed else Status(StatusCode.UNSET),
            start_time=min(began_ns, now_ns),
            end_time=now_ns,
            instrumentation_scope=self._scope,
        )
        self._processor.on_end(span)

    def close(self) -> None:
        """Send what is left."""
        self._processor.shutdown()


def switch_on(
    url: str | None,
    processor: "SpanProcessor | None" = None,
    *,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Trace from now on, to an OTLP collector at a URL such as http://host:4318; None = no trace.

    Headers, time-outs and the batches are those of OpenTelemetry's own variables. A `processor`
    takes the spans in the place of the collector. Raises SettingsError without the extra `otel`.
    """
    global _spans  # noqa: PLW0603 - one switch of the process
    if url is None and processor is None:
        return
    if processor is None and _spans is not None:
        return
    if processor is None and not str(url).startswith(("http://", "https://")):
        raise SettingsError(
            f"trace must be the http:// or https:// URL of an OTLP collector, got {url!r}"
        )
    ratio = sampled_ratio(environ)
    try:
        _spans = Spans(processor or exported(str(url)), ratio)
    except ModuleNotFoundError as missing:
        raise SettingsError(
            f"trace is {url}, and traces are made with OpenTelemetry, which is not installed: "
            "pip install 'lakeledger[otel]'"
        ) from missing


def switch_off() -> None:
    """Send what is left, and trace no more."""
    global _spans  # noqa: PLW0603 - as above
    if _spans is not None:
        _spans.close()
        _spans = None


def exported(url: str) -> "SpanProcessor":
    """Return a processor that sends spans to a collector from a thread of its own."""
    import atexit  # noqa: PLC0415 - only where spans are sent

    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    atexit.register(switch_off)
    return BatchSpanProcessor(OTLPSpanExporter(endpoint=url.rstrip("/") + PATH))


def sampled_ratio(environ: Mapping[str, str]) -> float:
    """Return the share of traces to keep, as OpenTelemetry's own variables say it."""
    sampler = environ.get("OTEL_TRACES_SAMPLER", "always_on").removeprefix("parentbased_")
    if sampler == "always_on":
        return 1.0
    share = environ.get("OTEL_TRACES_SAMPLER_ARG", "1")
    try:
        ratio = {RATIO: float(share), "always_off": 0.0}[sampler]
    except (KeyError, ValueError) as problem:
        raise SettingsError(
            "OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio with a number from "
            f"0 to 1 in OTEL_TRACES_SAMPLER_ARG, got {sampler} with {share!r}"
        ) from problem
    return min(1.0, max(0.0, ratio))


def now_ns() -> int:
    """Return the time at which a step begins, 0 while nothing is traced."""
    return 0 if _spans is None else time.time_ns()


def note(step: Step, ledger: str, event: Named, began_ns: int, **said: str) -> None:
    """Add the span of a step of a command that ends now; `began_ns` 0 = it is not traced.

    Internal events answer no command, and old events are read again.
    """
    spans = _spans
    if spans is None or not began_ns or not event.session:
        return
    if step is APPLY and began_ns - event.at * NS_PER_MS > AGE_MAX_NS:
        return
    trace, own = trace_of(ledger, event), span_of(step.name, ledger, event)
    verb, parent, link = _verb.get() if step is COMMAND else None, 0, None
    if step.after:
        parent = span_of(step.after, ledger, event)
    elif verb is not None:
        link = None if verb.join(trace) else context_of(verb.trace, verb.span)
        parent = 0 if link is not None else verb.span
    attributes: dict[str, Any] = {f"lakeledger.{name}": text for name, text in said.items()}
    for name in ("session", "n", "txn", "position"):
        attributes[f"lakeledger.{name}"] = getattr(event, name)
    name = f"{step.name} {said['command']}" if "command" in said else step.name
    failed = said.get("refused", "")
    at = context_of(trace, own)
    spans.add(name, at, parent, began_ns, attributes, kind=step.kind, failed=failed, link=link)


def verb(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a method of the client a span, with its commands below it."""

    @wraps(method)
    def traced(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if _spans is None:
            return method(*args, **kwargs)
        outer = _verb.get()
        own = Verb(f"{type(args[0]).__name__}.{method.__name__}", outer)
        token, failed = _verb.set(own), ""
        try:
            return method(*args, **kwargs)
        except BaseException as problem:
            failed = type(problem).__name__
            raise
        finally:
            _verb.reset(token)
            end_verb(own, failed)

    return traced


def end_verb(own: Verb, failed: str) -> None:
    """Add the span of a verb; one without a command is a trace by itself."""
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - an extra

    spans = _spans
    if spans is None:
        return
    trace = own.trace or number_of(secrets.token_bytes(TRACE_BYTES))
    at, outer, program = context_of(trace, own.span), own.outer, get_current_span()
    parent = outer.span if outer is not None and outer.trace == trace else 0
    link = program.get_span_context() if outer is None else None
    if link is not None and link.is_valid:
        program.add_link(at)
    else:
        link = None
    spans.add(own.name, at, parent, own.began_ns, {}, failed=failed, link=link)


def trace_of(ledger: str, event: Named) -> int:
    """Return the trace of a command: that of its txn, if it concerns one."""
    named = f"txn {event.txn}" if event.txn else f"{event.session}.{event.n}"
    return digest(TRACE_BYTES, f"{ledger} {named}")


def span_of(step: str, ledger: str, event: Named) -> int:
    """Return the span of a step of a command, the same in each process."""
    return digest(SPAN_BYTES, f"{step} {ledger} {event.session}.{event.n}")


def digest(size: int, text: str) -> int:
    """Return a number of some bytes that is a function of a text."""
    return number_of(blake2b(text.encode(), digest_size=size).digest())


def number_of(data: bytes) -> int:
    """Return bytes as a number above 0, as ids must be."""
    return int.from_bytes(data, "big") or 1


def context_of(trace: int, span: int) -> "SpanContext":
    """Return the context of a span that is sampled."""
    from opentelemetry.trace import SpanContext, TraceFlags  # noqa: PLC0415 - an extra

    return SpanContext(trace, span, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
