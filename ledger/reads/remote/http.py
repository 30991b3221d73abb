"""Reads over HTTP: for clients of a follower or metadata cache on another host.

The counterpart of `projections.web`; `http_questions` sends the requests.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter
from typing import Any, Final, ParamSpec, TypeVar

from ledger.reads.errors import check_condition, check_reads
from ledger.reads.metadata import AT_HAND, Bounds, MetadataAnswer, Read, ReadAt, settled
from ledger.reads.port import Reached, Reads
from ledger.reads.remote.cache import CacheReads, CacheStatus, VerifiedCache
from ledger.reads.remote.http_form import from_json, to_json
from ledger.reads.remote.http_questions import HttpQuestions, NothingFound, in_parts
from ledger.reads.remote.routes import BY_READ, WHERE, Route
from ledger.reads.whole_numbers import LIMIT, ROWS_MAX, whole_number, whole_or_none

# A longer condition might not fit the head of a request.
QUERY_CHARS_MAX: Final = 2_000

Asked = ParamSpec("Asked")
Found = TypeVar("Found")


def by_http(read: Callable[Asked, Found]) -> Callable[Asked, Found]:
    """Return a method that requests the answers of a read from the server."""
    route = BY_READ[read.__name__]

    @wraps(read)
    def ask(*args: Asked.args, **kwargs: Asked.kwargs) -> Found:
        given = route.signature.bind(*args, **kwargs).arguments
        found: Found = given.pop("self").answer(route, given)
        return found

    return ask


class HttpReads(HttpQuestions, Reads):
    """The read model behind a URL such as `http://host:8181`; threads may share it.

    `headers` go with every request, for a proxy that wants a login; `login` is as for
    `HttpQuestions`. In addition to the errors of `Reads`, every call raises ReadsUnavailableError
    if there is no answer within `timeout_s`, ReadsRefusedError without a valid token, and
    LimitExceededError for more rows at once than the server gives. Files are requested in pages of
    `page_rows`, so the server never holds a long listing in memory.
    """

    page_rows = ROWS_MAX

    identity = by_http(Reads.identity)
    valid_txns = by_http(Reads.valid_txns)
    valid_write_ids = by_http(Reads.valid_write_ids)
    write_ids_at = by_http(Reads.write_ids_at)
    mappings = by_http(Reads.mappings)
    table = by_http(Reads.table)
    table_named = by_http(Reads.table_named)
    tables = by_http(Reads.tables)
    namespaces = by_http(Reads.namespaces)
    newest_versions = by_http(Reads.newest_versions)
    definition = by_http(Reads.definition)
    definitions = by_http(Reads.definitions)
    txn = by_http(Reads.txn)
    open_txns = by_http(Reads.open_txns)
    aborted_txns = by_http(Reads.aborted_txns)
    counts = by_http(Reads.counts)
    outcome = by_http(Reads.outcome)
    session = by_http(Reads.session)
    session_of = by_http(Reads.session_of)
    watermark = by_http(Reads.watermark)
    table_mark = by_http(Reads.table_mark)
    released_files = by_http(Reads.released_files)
    aborted_write_ids = by_http(Reads.aborted_write_ids)
    history = by_http(Reads.history)
    files = by_http(Reads.files)
    file_changes = by_http(Reads.file_changes)
    partitions = by_http(Reads.partitions)
    file_paths = by_http(Reads.file_paths)
    version_row = by_http(Reads.version_row)
    versions = by_http(Reads.versions)
    table_reads = by_http(Reads.table_reads)
    app = by_http(Reads.app)
    apps = by_http(Reads.apps)
    progress = by_http(Reads.progress)
    protocol = by_http(Reads.protocol)
    domains = by_http(Reads.domains)
    conflict = by_http(Reads.conflict)
    conflicts = by_http(Reads.conflicts)
    anomalies = by_http(Reads.anomalies)
    blocks = by_http(Reads.blocks)

    def reach(self, position: int, seen: Reached, timeout_ms: int) -> Reached:
        wanted = whole_number("position", position)

        def ask(part_ms: int) -> Reached:
            asked = {"at_least": wanted, "seen": seen.position, "chain": seen.chain or None}
            given = {**asked, "max_wait_ms": part_ms}
            return from_json(Reached, self._asked("GET", "/reached", given, wait_ms=part_ms))

        return in_parts(ask, whole_number("timeout_ms", timeout_ms))

    def metadata(self, reads: Sequence[Read], bounds: Bounds = AT_HAND) -> Sequence[MetadataAnswer]:
        check_reads(reads, bounds)

        def ask(part_ms: int) -> Sequence[MetadataAnswer]:
            return HttpQuestions.metadata(self, reads, bounds._replace(max_wait_ms=part_ms))

        return in_parts(ask, bounds.max_wait_ms)

    def answer(self, route: Route, given: Mapping[str, Any]) -> Any:
        """Return the answer to a read; a listing without a limit is requested in pages."""
        if not route.behind or not route.may_list_all or given.get(LIMIT) is not None:
            return self._answer(route, given)
        asked, found = dict(given), list[Any]()
        if asked.get("position") is None and asked.get("version") is None:
            # Pages of several moments are no listing.
            asked["position"] = self.position()
        while True:
            page = self._answer(route, {**asked, LIMIT: self.page_rows})
            found += page
            if len(page) < self.page_rows:
                return found
            asked |= route.next_page(page[-1])

    def _answer(self, route: Route, given: Mapping[str, Any]) -> Any:
        asked = {
            name: check_parameter(parameter, given[parameter.name])
            for name, parameter in route.parameters.items()
            if parameter.name in given
        }
        body = body_of(route, asked)
        query = {
            name: value
            for name, value in asked.items()
            if not route.is_in_path(name) and value != route.parameters[name].default
        }
        path, method = route.path.format_map(asked), "GET" if body is None else "POST"
        try:
            return from_json(route.kind, self._asked(method, path, query, body))
        except NothingFound:
            if not route.may_find_nothing:
                raise
            return None


def check_parameter(parameter: Parameter, given: Any) -> Any:
    """Return a parameter in a plain form; raises as the read does for an impossible one."""
    if parameter.name == WHERE:
        check_condition(given)
    if parameter.annotation is bool:
        return bool(given)
    if parameter.annotation is int:
        return whole_number(parameter.name, given)
    return whole_or_none(parameter.name, given) if parameter.annotation == int | None else given


def body_of(route: Route, asked: dict[str, Any]) -> bytes | None:
    """Take the body of a request out of its parameters; a short condition stays there."""
    given = asked.get(route.body)
    if given is None or (route.body == WHERE and len(given) <= QUERY_CHARS_MAX):
        return None
    del asked[route.body]
    return given.encode() if route.body == WHERE else to_json(given)


class HttpCache(HttpQuestions, CacheReads):
    """The cache behind a URL such as `http://host:8182`; threads may share it."""

    def metadata_at(self, read: ReadAt, bounds: Bounds = AT_HAND) -> MetadataAnswer:
        """Return what a reader with the list of a position, or of now, sees."""
        catalog = read.catalog or None
        given = {**read._asdict(), "catalog": catalog, **bounds._asdict()}
        answer = self._asked("GET", "/metadata", given, wait_ms=bounds.max_wait_ms)
        return settled(from_json(MetadataAnswer, answer))

    def status(self) -> CacheStatus:
        return self._get(CacheStatus, "/cache")

    def verify(self, tables: int) -> VerifiedCache:
        """Let the cache compare some of its tables with its store."""
        return from_json(VerifiedCache, self._asked("POST", "/cache/verify", {"tables": tables}))
