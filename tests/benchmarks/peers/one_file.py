"""Updates of rows of one file: which rows there are, and which a session updates.

No row is updated twice, so no two updates have anything to do with each other.
"""

from collections.abc import Callable, Iterator

from tests.benchmarks.peers import crew

# Without a factor of any number of rows that is a power of ten.
STEP = 611_953
SESSIONS_MAX = 64


def rows_of(job: crew.Job) -> Iterator[int]:
    """Yield the ids that a session updates: scattered, and in no other session."""
    for number in range(job["session"], job["rows"], SESSIONS_MAX):
        yield number * STEP % job["rows"]


def one_after_the_other(job: crew.Job, update: Callable[[int], object]) -> crew.Call:
    """Return a call that updates the next row; where it fails, the next call tries again."""
    ids = rows_of(job)
    now = next(ids)

    def call(_: int) -> None:
        nonlocal now
        update(now)
        now = next(ids)

    return call
