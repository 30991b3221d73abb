"""Commands over a metadata cache: its status, its answers, and whether they are correct.

By default they make a cache over the rows of this host, as any program may; with `--url` they ask a
process that runs `lakeledger serve cache`.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Annotated, Any

import typer

from ledger.cli.answers import Output, OutputOption, answer, say
from ledger.cli.failures import Stopped
from ledger.cli.options import CONFIGURED, CatalogOption, NameOption, number_option
from ledger.config.address import Address
from ledger.config.search import find_address
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.definitions.client_reads import check_ledger_name, open_rows
from ledger.errors import SettingsError, UnknownTableError
from ledger.machine.exit_codes import ExitCode
from ledger.reads.errors import check_list_is_of
from ledger.reads.metadata import (
    MAX_WAIT_MS,
    POLICIES,
    TABLE,
    Bounds,
    MetadataAnswer,
    Read,
    ReadAt,
    TableMetadata,
)
from ledger.reads.remote.cache import CacheReads, CacheStatus
from ledger.reads.remote.http_form import form_of
from ledger.reads.whole_numbers import number_of
from ledger.session.receipt import Token
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened

NOW = "now"
TABLES = 10

UrlOption = Annotated[
    str | None, typer.Option("--url", help="A cache process, such as http://127.0.0.1:8182.")
]

app = typer.Typer(no_args_is_help=True)


@contextmanager
def opened(url: str | None, ledger: str | None, catalog: str) -> Iterator[CacheReads]:
    """Open the cache process at a URL, else a cache over the rows of this host.

    Raises SettingsError if the cache is of another ledger than the named one.
    """
    if url is not None:
        from ledger.reads.remote.http import HttpCache  # noqa: PLC0415 - loads the HTTP client

        with closing(HttpCache(url)) as far:
            check_ledger(far, ledger)
            yield far
        return
    address = find_address(ledger=ledger)
    if address.store is None:
        raise no_cache(address)
    with ExitStack() as own:
        cache = own.enter_context(closing(MetadataCache.open(address.store, catalog)))
        reads = own.enter_context(closing(Reopened(lambda: open_rows(address))))
        near = CacheProcess(cache, ReadLists(reads))
        check_ledger(near, address.ledger)
        yield near


def no_cache(address: Address) -> SettingsError:
    """Return the error for a host that has no rows for a cache."""
    if address.reads_url is None:
        why = f"there are no rows of ledger {address.ledger} on this host to make a cache of. Set"
    else:
        why = (
            f"rows of ledger {address.ledger} are read at {address.reads_url}, where a follower "
            "answers, and it has no cache to look at. Unset LAKELEDGER_READS_URL and set"
        )
    return SettingsError(
        f"{why} LAKELEDGER_STORE to their folder on this host, or name a cache process with --url, "
        "such as http://host:8182"
    )


def check_ledger(cache: CacheReads, name: str | None) -> None:
    """Raise SettingsError if a cache is known to be of another ledger than the named one."""
    if name is not None and (own := cache.status().ledger) is not None:
        check_ledger_name(own, name)


@app.command("status")
def cache_status(
    url: UrlOption = None,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far a cache is, what it holds, where its answers came from, and what differed."""
    with opened(url, ledger, catalog) as cache:
        status = cache.status()
        answer(status_fields(status, output), output)
    if status.ledger is None:
        say("its rows cannot be read, so it answers only what it holds: see its own log")
    if url is None:
        say(
            "this cache was made for this answer, over the rows of this host: lakeledger status "
            "shows how far they are behind the log, --url names a process that keeps one"
        )
    if status.mismatches:
        raise differ("see lakeledger cache verify, and report it")


@app.command("read")
def cache_read(
    table: Annotated[str, typer.Argument(help="The name of the table, or its id.")],
    url: UrlOption = None,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    table_id: Annotated[int | None, number_option("Its id, if known.", least=1)] = None,
    write_ids: Annotated[
        str | None, typer.Option(metavar="LIST", help="The reader's list, as Hive writes it.")
    ] = None,
    position: Annotated[
        str, typer.Option(metavar="N|now", help="Without a list: as of this position.")
    ] = NOW,
    what: Annotated[
        str, typer.Option(help="table, partition:day=1, stats:delay, or any other object.")
    ] = TABLE,
    token: Annotated[str | None, typer.Option(help="A token or position to be seen.")] = None,
    max_wait_ms: Annotated[int, number_option("How long to wait.")] = MAX_WAIT_MS,
    max_lag_ms: Annotated[
        int | None, number_option("How old the cache may be if the store knows more.")
    ] = None,
    policy: Annotated[str, typer.Option(metavar="list|latest", help="What to see.")] = "list",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a reader sees of a table, from where and why."""
    if policy not in POLICIES:
        raise typer.BadParameter(f"--policy must be one of {', '.join(POLICIES)}, got {policy!r}")
    if write_ids is not None and position != NOW:
        raise typer.BadParameter("give a list or a position, not both")
    listed, place = list_of(write_ids), position_of(position)
    if listed is not None and number_of(table) is None:
        check_list(listed, catalog, table)
    least = place_of(token or "0")
    with opened(url, ledger, catalog) as cache:
        seen = position_in(cache, least)
        bounds = Bounds(seen, max_wait_ms, max_lag_ms, POLICIES[policy])

        def ask(read: ReadAt) -> MetadataAnswer:
            if listed is None:
                return cache.metadata_at(read, bounds)
            named = read.table or read.table_id or 0
            return cache.metadata(
                [Read(named, listed, read.table_id, what, catalog=catalog)], bounds
            )[0]

        read = ReadAt(table, catalog, table_id, place, what)
        result = by_name_or_id(ask, read)
        if listed is not None and number_of(table) is not None:
            meant = by_name_or_id(ask, read._replace(what=TABLE)).value
            if isinstance(meant, TableMetadata):
                check_list(listed, meant.catalog, meant.name)
    if result.value is None:
        raise Stopped(
            f"{what} {table} does not exist for this reader at position {result.position}",
            ExitCode.NOT_FOUND,
        )
    answer(answer_fields(result), output)


@app.command("wait")
def cache_wait(
    position: Annotated[str, typer.Argument(help="A position, or a token.")],
    url: UrlOption = None,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    timeout_ms: Annotated[int, number_option("How long to wait.")] = 30_000,
    output: OutputOption = Output.TABLE,
) -> None:
    """Wait until a cache has reached a position."""
    place = place_of(position)
    with opened(url, ledger, catalog) as cache:
        answer({"position": cache.wait(position_in(cache, place), timeout_ms)}, output)


@app.command("verify")
def cache_verify(
    url: UrlOption = None,
    ledger: NameOption = None,
    catalog: CatalogOption = CONFIGURED,
    *,
    tables: Annotated[int, number_option("How many tables.", least=1)] = TABLES,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the answers of a cache and its store for some tables; exit with 10 if they differ."""
    with opened(url, ledger, catalog) as cache:
        verified = cache.verify(tables)
    mismatches = form_of(verified.mismatches)
    answer({"compared": verified.compared, "mismatches": mismatches}, output)
    if verified.mismatches:
        raise differ("report it, with the mismatches listed")


def differ(next_step: str) -> Stopped:
    """Return the end of a command about a cache that differs."""
    return Stopped(f"cache and store differ: {next_step}", ExitCode.UNHEALTHY)


def status_fields(status: CacheStatus, output: Output) -> dict[str, Any]:
    """Return the status of a cache as fields, with counts of reads by source and reason."""
    reads = {f"{count.source} {count.reason}": count.number for count in status.reads}
    fields = {**status._asdict(), "hit_ratio": round(status.hit_ratio, 4), "reads": reads}
    fields["ledger"] = status.ledger and status.ledger._asdict()
    if output is Output.JSON:
        fields["reads"] = [count._asdict() for count in status.reads]
    return fields


def answer_fields(seen: MetadataAnswer) -> dict[str, Any]:
    """Return an answer as JSON shows it, with its source and the reason for that."""
    why = {"source": seen.source, "reason": seen.reason, "position": seen.position}
    if not isinstance(seen.value, TableMetadata):
        return {"value": seen.value, **why}
    table, catalog, name, definition = seen.value
    return {
        "table": table,
        "catalog": catalog,
        "name": name,
        "kind": definition.kind,
        "layout": definition.layout,
        "location": definition.location,
        "columns": [f"{column.name} {column.type}" for column in definition.columns],
        "partitioned_by": list(definition.partition_columns),
        "properties": {pair.key: pair.value for pair in definition.properties},
        **why,
    }


def by_name_or_id(ask: Callable[[ReadAt], MetadataAnswer], read: ReadAt) -> MetadataAnswer:
    """Return the answer to a read; digits that name no table are an id."""
    name = read.table or ""
    if read.table_id is None and (number := number_of(name)) is not None:
        with suppress(UnknownTableError):
            seen = ask(read)
            if seen.value is not None:
                return seen
        read = read._replace(table=None, table_id=number)
    return ask(read)


def list_of(text: str | None) -> ValidWriteIdList | None:
    """Return the list in a text; raises BadParameter for any other text."""
    try:
        return None if text is None else ValidWriteIdList.parse(text)
    except ValueError as problem:
        raise typer.BadParameter(
            f"--write-ids must be a list like main.db.t:7:3:3,5:4, got {text!r} ({problem})"
        ) from problem


def check_list(listed: ValidWriteIdList, catalog: str, name: str) -> None:
    """Raise BadParameter for a list of another table; a list without a table fits any."""
    try:
        check_list_is_of(catalog, name, listed)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from problem


def position_of(text: str) -> int | None:
    """Return the position in a text, None for now; raises BadParameter for any other text."""
    if text == NOW:
        return None
    position = number_of(text)
    if position is None:
        raise typer.BadParameter(f"a position must be a number of 64 bits or {NOW}, got {text!r}")
    return position


def place_of(text: str) -> Token | int:
    """Return the token or position in a text; raises BadParameter for any other text."""
    number = number_of(text)
    try:
        return Token.parse(text) if number is None else number
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from problem


def position_in(cache: CacheReads, place: Token | int) -> int:
    """Return a position; raises BadParameter for a token of another ledger than the cache's."""
    if isinstance(place, int):
        return place
    whose = cache.status().ledger
    if whose is None:
        return place.position
    try:
        return place.position_in(Token(whose.ledger, whose.domain, 0))
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from problem
