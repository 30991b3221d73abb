"""The questions over HTTP: the path of each, and its call of `Reads`.

`ledger.reads.remote.routes` has the paths of all reads; two paths have forms of their own. A
question with a body is a POST, and still a read.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ledger.reads.port import Reached, Reads
from ledger.reads.remote.http_questions import VERSION_PATH
from ledger.reads.remote.routes import PLACES, ROUTES, WHERE, Route, is_required
from ledger.reads.whole_numbers import LIMIT
from projections.web.answers.asked import Asked
from projections.web.answers.listing import FEW, Paged, Size
from projections.web.answers.metadata_questions import check_wait, metadata

Asking = TypeVar("Asking")
Ask = Callable[[Reads, Asked], Any]
GET: Final = ("GET",)
BOTH: Final = ("GET", "POST")
# Over HTTP a listing begins at the beginning unless a request says otherwise.
AFTER: Final = "after"


VALUES: Final[Mapping[Any, Callable[[Asked, str], Any]]] = {
    int: Asked.number,
    int | None: Asked.number_or_none,
    str: Asked.text,
    bytes: Asked.digits,
    bool: Asked.flag,
}
"""How the values of each kind of parameter are read."""

BODIES: Final[Mapping[str, Callable[[Asked], Any]]] = {WHERE: Asked.condition, "txns": Asked.txns}
"""How the parameters that a body may bring are read."""


def size_few(_asked: Asked) -> Size:
    """Return the size of an answer that is always short."""
    return Size.FEW


def size_whole(_asked: Asked) -> Size:
    """Return the size of an answer that has all rows as of one moment."""
    return Size.WHOLE


class Question(NamedTuple, Generic[Asking]):
    """A path below `root`, the function that answers it, its methods and size.

    Answers with `Paged` rows are read page by page.
    """

    path: str
    ask: Callable[[Asking, Asked], Any]
    methods: Sequence[str] = GET
    size: Callable[[Asked], Size] = size_few
    root: str = VERSION_PATH


def reached(reads: Reads, asked: Asked) -> Reached:
    """Return how far the rows are, once they have come to a position and to `seen`."""
    asked.max_wait_ms = asked.number_or_none("max_wait_ms") or 0
    check_wait(asked.max_wait_ms)
    seen = Reached(asked.number_or_none("seen") or 0, asked.text_or_none("chain") or "")
    return reads.reach(asked.number_or_none("at_least") or 0, seen, 0)


def question_of(*routes: Route) -> Question[Reads]:
    """Return the question of a path; one of its reads may be for requests with a body."""
    route, by_body = routes[0], routes[-1]

    def ask(reads: Reads, asked: Asked) -> Any:
        return answer(by_body if asked.has_body else route, reads, asked)

    methods = BOTH if by_body.body else GET
    return Question(route.path, ask, methods, lambda asked: size_of(route, asked))


def answer(route: Route, reads: Reads, asked: Asked) -> Any:
    """Return the answer to a read, None for nothing; a long listing is made of pages."""
    asked.check_one_of(*(name for name in PLACES if name in route.parameters))
    given = {
        each.name: limit_of(route, asked) if name == LIMIT else value_of(asked, name, each)
        for name, each in route.parameters.items()
    }
    # `version_row` takes 0 for no time; no version is that old.
    if "at" in given and asked.number_or_none("at") == 0:
        return None
    read = attrgetter(route.name)
    if not route.behind or size_of(route, asked) is Size.FEW:
        return read(reads)(**given)
    limit = given.pop(LIMIT)
    if "position" in given and given["position"] is None and given.get("version") is None:
        # Pages of several moments are no listing.
        given["position"] = reads.position()
    return Paged(
        lambda source, last, rows: read(source)(**given | route.next_page(last), limit=rows), limit
    )


def value_of(asked: Asked, name: str, parameter: Parameter) -> Any:
    """Return the value of a parameter; raises BadRequestError for an invalid one."""
    if name in BODIES:
        return BODIES[name](asked)
    if asked.text_or_none(name) is None and name == AFTER:
        return 0
    if asked.text_or_none(name) is None and not is_required(parameter):
        return parameter.default
    return VALUES[parameter.annotation](asked, name)


def limit_of(route: Route, asked: Asked) -> int | None:
    """Return the largest number of rows to return, None for all."""
    return asked.limit_or_none() if route.may_list_all else asked.limit()


def size_of(route: Route, asked: Asked) -> Size:
    """Return the size of an answer, by its limit if it has one."""
    limit = limit_of(route, asked) if LIMIT in route.parameters else None
    if limit is not None and limit <= FEW:
        return Size.FEW
    return Size.PAGES if route.behind else Size.WHOLE if route.is_listing else Size.FEW


QUESTIONS: Final[Sequence[Question[Reads]]] = (
    Question("/reached", reached),
    Question("/metadata", metadata, BOTH),
    *(question_of(*routes) for _, routes in groupby(ROUTES, attrgetter("path"))),
)
