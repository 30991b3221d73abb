"""Questions about metadata, to a follower or a cache.

A `POST` brings any number of reads with their lists, for programs. A `GET` brings one read in its
parameters, for people: without list and position it uses the newest list.
"""

from collections.abc import Callable, Sequence
from typing import Final

from ledger.config.settings import CATALOG_DEFAULT
from ledger.core.lists.valid_lists import ValidWriteIdList
from ledger.core.refusals import Reason
from ledger.errors import LimitExceededError
from ledger.reads.errors import ListForeignError, check_list_is_of, check_reads, unknown_object
from ledger.reads.metadata import (
    MAX_WAIT_MS,
    POLICIES,
    TABLE,
    Bounds,
    MetadataAnswer,
    MetadataQuestion,
    Policy,
    Read,
    ReadAt,
)
from ledger.reads.port import Identity, Reads
from ledger.reads.remote.http_questions import WAIT_MAX_MS
from ledger.session.receipt import Token
from projections.cache.lists import read_at
from projections.cache.process import CacheProcess
from projections.web.answers.asked import Asked, BadRequestError

READS_MAX: Final = 10_000

ReadListed = Callable[[Sequence[Read], Bounds], Sequence[MetadataAnswer]]
"""Answers reads that have a list."""


def metadata(reads: Reads, asked: Asked) -> MetadataAnswer | Sequence[MetadataAnswer]:
    """Return a follower's answer to one read, or to the reads in the body."""

    def read_listed(listed: Sequence[Read], bounds: Bounds) -> Sequence[MetadataAnswer]:
        # A waiting read holds no thread: there are few threads.
        asked.max_wait_ms = bounds.max_wait_ms
        return reads.metadata(listed, bounds._replace(max_wait_ms=0))

    def read_now(one: ReadAt, bounds: Bounds) -> MetadataAnswer:
        asked.max_wait_ms = bounds.max_wait_ms
        # A name or a list from before the token would hide the token's change.
        reads.wait(bounds.token, 0)
        return read_listed([read_at(reads, one)], bounds)[0]

    def check_token(token: Token, bounds: Bounds) -> None:
        asked.max_wait_ms = bounds.max_wait_ms
        check_token_of(token, reads.identity())
        reads.reach(token.position, token.seen, 0)

    return answered(read_listed, asked, read_now, CATALOG_DEFAULT, check_token)


def cached(process: CacheProcess, asked: Asked) -> MetadataAnswer | Sequence[MetadataAnswer]:
    """Return a cache's answer to one read, or to the reads in the body."""

    def check_token(token: Token, _bounds: Bounds) -> None:
        # A cache has no earlier chains: it finds events that a cut left out by their position.
        whose = process.cache.entries.identity()
        if whose is not None:
            check_token_of(token, whose)

    catalog = process.cache.catalog
    return answered(process.metadata, asked, process.metadata_at, catalog, check_token)


def answered(
    read_listed: ReadListed,
    asked: Asked,
    read_now: Callable[[ReadAt, Bounds], MetadataAnswer],
    catalog: str,
    check_token: Callable[[Token, Bounds], None],
) -> MetadataAnswer | Sequence[MetadataAnswer]:
    """Return the answer; `read_now` answers a read that brings no list.

    `catalog` is the catalog of names without one. `check_token` raises for a token of events that
    are not here. Raises UnknownTableError for an unknown name.
    """
    question = question_in(asked)
    if question is not None:
        reads = [read._replace(catalog=read.catalog or catalog) for read in question.reads]
        try:
            return read_listed(reads, question.bounds)
        except ListForeignError as problem:
            raise BadRequestError(str(problem)) from None
    bounds, one = bounds_of(asked), read_of(asked, catalog)
    if isinstance(token := token_of(asked), Token):
        check_token(token, bounds)
    if isinstance(one, ReadAt):
        return read_now(one, bounds)
    answer = read_listed([one], bounds)[0]
    if answer.value is None and one.table_id is None and one.what == TABLE:
        raise unknown_object(one.table, one.what, answer.position)
    return answer


def question_in(asked: Asked) -> MetadataQuestion | None:
    """Return the reads in the body, None if there is no body; raises LimitExceededError."""
    question = asked.body(MetadataQuestion, "question about metadata")
    if question is not None:
        check_wait(question.bounds.max_wait_ms)
        check_numbers(question)
        if (number := len(question.reads)) > READS_MAX:
            raise too_much(f"{number} reads were asked for, {READS_MAX} go at once")
    return question


def check_numbers(question: MetadataQuestion) -> None:
    """Raise BadRequestError for a number that cannot be a table, a txn or a position."""
    try:
        check_reads(*question)
    except ValueError as problem:
        raise BadRequestError(str(problem)) from None


def bounds_of(asked: Asked) -> Bounds:
    """Return what the answer must have seen, from the parameters."""
    given = asked.number_or_none("max_wait_ms")
    max_wait_ms = MAX_WAIT_MS if given is None else given
    check_wait(max_wait_ms)
    lag_ms = asked.number_or_none("max_lag_ms")
    token = token_of(asked)
    position = token.position if isinstance(token, Token) else token
    return Bounds(position, max_wait_ms, lag_ms, policy_of(asked))


def token_of(asked: Asked) -> Token | int:
    """Return the given token, whole or as its position alone, 0 without one."""
    text = asked.text_or_none("token") or ""
    if ":" not in text:
        return asked.number_or_none("token") or 0
    try:
        return Token.parse(text)
    except ValueError as problem:
        raise BadRequestError(f"token: {problem}") from None


def check_token_of(token: Token, whose: Identity) -> None:
    """Raise BadRequestError for a token of another ledger."""
    if (token.ledger, token.domain) != (whose.ledger, whose.domain):
        raise BadRequestError(
            f"token {token} is of another ledger; here is {whose.ledger}, domain {whose.domain}"
        )


def policy_of(asked: Asked) -> Policy:
    """Return the policy in the parameters."""
    text = asked.text_or_none("policy") or "list"
    if text not in POLICIES:
        raise BadRequestError(f"policy is {text!r}; it is one of: {', '.join(POLICIES)}")
    return POLICIES[text]


def read_of(asked: Asked, catalog: str) -> Read | ReadAt:
    """Return the read in the parameters, with a list or without one.

    `catalog` is the catalog of a name without one.
    """
    table_id = asked.number_or_none("table_id")
    name = asked.text("table") if table_id is None else asked.text_or_none("table")
    catalog, what = asked.text_or_none("catalog") or catalog, asked.text_or_none("what") or TABLE
    own_txn, position = asked.number_or_none("own_txn") or 0, asked.number_or_none("position")
    write_ids = list_of(asked)
    if write_ids is None:
        if own_txn:
            raise BadRequestError("own_txn needs write_ids: the list of that txn")
        return ReadAt(name, catalog, table_id, position, what)
    if position is not None:
        raise BadRequestError("give write_ids or position, not both")
    if table_id is None and name is not None:
        try:
            check_list_is_of(catalog, name, write_ids)
        except ListForeignError as problem:
            raise BadRequestError(str(problem)) from None
    table = name if name is not None else table_id or 0
    return Read(table, write_ids, table_id, what, own_txn, catalog)


def list_of(asked: Asked) -> ValidWriteIdList | None:
    """Return the given list in Hive's text form, None if absent."""
    text = asked.text_or_none("write_ids")
    try:
        return None if text is None else ValidWriteIdList.parse(text)
    except ValueError as problem:
        raise BadRequestError(f"write_ids: {problem}") from None


def check_wait(wait_ms: int) -> None:
    """Raise LimitExceededError for a wait that is too long for one request."""
    if wait_ms > WAIT_MAX_MS:
        raise too_much(f"one request waits for at most {WAIT_MAX_MS} ms; ask again to wait longer")


def too_much(what: str) -> LimitExceededError:
    """Return the error for a request above a limit."""
    return LimitExceededError(what, reason=Reason.LIMIT_EXCEEDED.value)
