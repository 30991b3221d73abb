"""Runs: one seed from beginning to end, and what came of it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from ledger.core.acceptance import Verdict
from tests.isolation.mutants import Mutant as Swapped
from tests.isolation.mutants import broken as swapped
from tests.simulation.broken import BrokenError
from tests.simulation.coverage import met_by
from tests.simulation.faults import Fault
from tests.simulation.variant import HONEST, Variant
from tests.simulation.world import Trace, World


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one seed: `broken` is the first law that broke, `seconds` the virtual time."""

    seed: int
    broken: BrokenError | None
    strikes: Counter[Fault] = field(default_factory=Counter)
    dropped: Counter[Verdict] = field(default_factory=Counter)
    commands: int = 0
    events: int = 0
    fingerprint: str = ""
    met: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def run_seed(
    seed: int,
    *,
    variant: Variant = HONEST,
    without: frozenset[Fault] = frozenset(),
    trace: Trace | None = None,
) -> Result:
    """Run one seed; whatever a process raises that no fault explains breaks a law too."""
    world = World(seed, variant=variant, without=without, trace=trace)
    broken: BrokenError | None = None
    try:
        with backups_here(), swapped(Swapped(variant.name, variant.swaps)):
            world.run()
    except BrokenError as error:
        broken = error
    except Exception as error:  # noqa: BLE001 - any exception is a finding of the run
        broken = BrokenError("nothing falls over", told(error))
    if broken is not None:
        world.note("check", str(broken))
    head = world.oracle.acceptor.head
    return Result(
        seed,
        broken,
        world.faults.strikes,
        world.oracle.acceptor.dropped,
        world.asked,
        head.position,
        f"{head.epoch}/{head.position}/{head.chain.hex()}",
        world.oracle.model.met,
        met_by(world.oracle.history.events.values()),
        world.timeline.now_s,
    )


@contextmanager
def backups_here() -> Iterator[None]:
    """Let relative paths of backups lead into a folder that goes with the run."""
    shared = Path("/dev/shm")  # noqa: S108 - a disk in memory, where there is one
    folder = str(shared) if shared.is_dir() else None
    with TemporaryDirectory(prefix="lakeledger-simulation-", dir=folder) as path, chdir(path):
        yield


def told(error: Exception) -> str:
    """Return an exception with the place it comes from."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{at.tb_frame.f_code.co_qualname}:{at.tb_lineno}" if at is not None else "nowhere"
    return f"{type(error).__name__} in {place}: {error}"
