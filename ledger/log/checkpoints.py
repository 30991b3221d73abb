"""State checkpoints: the state of a domain as canonical bytes, and where sequencers find them.

A checkpoint is JSON of the state's canonical form, so equal states give equal bytes and one digest.
In the checkpoints topic it travels compressed and cut into chunks, each under a key of its own; the
manifest comes last and names them, so half a checkpoint is never taken for a whole one. Recovery is
the newest whole checkpoint and the tail of the log behind it.
"""

import gc
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from ledger.core.acceptance import LogHead
from ledger.core.evolve.form import head_form, head_from, state_form, state_from
from ledger.core.limits import CHECKPOINT_CHUNK_BYTES
from ledger.core.state.domain import DomainState
from ledger.errors import IncompatibleError
from ledger.log.port import Log, LogWriter, Topic
from ledger.version import READER_VERSION

FORMAT = 3
# The second said of a table's name only when it was given, not by whom.
FORMATS_READ = frozenset({2, FORMAT})
# A manifest stands behind its chunks, before the tombstones of the checkpoint it replaced.
LAST_RECORDS = 16
READ_MAX = 100
READ_S = 5.0
CHUNK_KEY = re.compile(rb"([0-9]+)/([0-9]+)/([0-9]+)")
# What every manifest has, and of which type.
MANIFEST: Final = {
    "position": int,
    "head": list,
    "offset": int,
    "reader": int,
    "chunks": int,
    "sha256": str,
}
# To read an event again takes about as long as to load so many bytes of a checkpoint, 20 us.
BYTES_PER_POSITION = 500
# The checkpoint before the newest stays readable for whoever is reading it at this moment.
KEPT = 2


class Checkpoint(NamedTuple):
    """A state, the log head it belongs to, and the offset in events to go on reading from."""

    state: DomainState
    head: LogHead
    offset: int


class Written(NamedTuple):
    """A checkpoint in the topic: its position, and how many chunks it has."""

    position: int
    chunks: int


def dump(state: DomainState, head: LogHead, offset: int) -> bytes:
    """Return the canonical bytes of a checkpoint."""
    form = {
        "format": FORMAT,
        "reader": READER_VERSION,
        "offset": offset,
        **state_form(state, head),
    }
    return msgspec.json.encode(form, order="sorted")


def load(data: bytes) -> Checkpoint:
    """Return the checkpoint in `data`.

    Raises IncompatibleError for another format, and for a state that a later reader folded.
    """
    with uncollected():
        form = msgspec.json.decode(data)
        if form.get("format") not in FORMATS_READ:
            raise IncompatibleError(
                f"the checkpoint has format {form.get('format')}, this version reads {FORMAT}; "
                "update it, or start from the beginning of the log"
            )
        state, head = state_from(form)
    check_reader(form.get("reader", 0), head.position)
    return Checkpoint(state, head, form["offset"])


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile: millions of objects are made here, and none of them is any.

    The collector would look at all of them again and again, which takes as long as to make them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def digest(state: DomainState, head: LogHead) -> str:
    """Return a digest that is equal iff state and head are."""
    return sha256(dump(state, head, 0)).hexdigest()


def positions_after(size: int, least: int) -> int:
    """Return how many positions after a checkpoint of `size` bytes the next one is due.

    They are `least` or, of a large state, as many as are read again while it is loaded: it would
    else be written out most of the time, and whoever folds stands still for that.
    """
    return max(least, size // BYTES_PER_POSITION)


class CheckpointWriter:
    """Writes checkpoints of one domain into the topic and removes the ones before.

    `before` are those that other processes had written, oldest first.
    """

    def __init__(self, writer: LogWriter, domain: int, before: Sequence[Written] = ()) -> None:
        self._writer = writer
        self._domain = domain
        self._written = dict(before)

    def write(self, checkpoint: Checkpoint, timeout_s: float = 30.0) -> int:
        """Write a checkpoint and wait for its delivery; returns its size in bytes."""
        data = dump(*checkpoint)
        packed = zlib.compress(data, 6)
        position = checkpoint.head.position
        chunks = [
            packed[at : at + CHECKPOINT_CHUNK_BYTES]
            for at in range(0, len(packed), CHECKPOINT_CHUNK_BYTES)
        ]
        for number, chunk in enumerate(chunks):
            self._writer.append(chunk_key(self._domain, position, number), chunk)
        manifest = {
            "domain": self._domain,
            "position": position,
            "head": head_form(checkpoint.head),
            "offset": checkpoint.offset,
            "reader": READER_VERSION,
            "chunks": len(chunks),
            "sha256": sha256(data).hexdigest(),
        }
        self._writer.append(manifest_key(self._domain, position), json.dumps(manifest).encode())
        self._writer.flush(timeout_s)
        self._written.pop(position, None)
        self._written[position] = len(chunks)
        self._remove_old()
        return len(data)

    def _remove_old(self) -> None:
        while len(self._written) > KEPT:
            position = next(iter(self._written))
            chunks = self._written.pop(position)
            self._writer.append(manifest_key(self._domain, position), b"")
            for number in range(chunks):
                self._writer.append(chunk_key(self._domain, position, number), b"")


def chunk_key(domain: int, position: int, number: int) -> bytes:
    """Return the key of one chunk."""
    return f"{domain}/{position}/{number}".encode()


def manifest_key(domain: int, position: int) -> bytes:
    """Return the key of a manifest."""
    return f"{domain}/{position}/manifest".encode()


def read_newest(log: Log, domain: int) -> Checkpoint | None:
    """Return the newest whole checkpoint of a domain, or None if there is none.

    Raises as `read_values`.
    """
    return newest(read_values(log, *log.ends(Topic.CHECKPOINTS)), domain)


def newest(values: dict[bytes, bytes], domain: int) -> Checkpoint | None:
    """Return the newest whole checkpoint among the values of the topic."""
    for manifest in sorted(manifests(values, domain), key=lambda each: -int(each["position"])):
        position = int(manifest["position"])
        chunks = [
            values.get(chunk_key(domain, position, number), b"")
            for number in range(int(manifest["chunks"]))
        ]
        try:
            data = zlib.decompress(b"".join(chunks))
        except zlib.error:
            continue
        if sha256(data).hexdigest() == manifest["sha256"]:
            return load(data)
    return None


def read_newest_head(log: Log, domain: int) -> tuple[LogHead, int] | None:
    """Return the log head of the newest checkpoint and the offset in events behind it, or None.

    Reads the topic from its end and no more of it than it must: not the state.
    Raises IncompatibleError if what follows needs a later reader than this one, and as
    `read_values`.
    """
    start, end = log.ends(Topic.CHECKPOINTS)
    begin, last_records = end, LAST_RECORDS
    while begin > start:
        begin = max(start, end - last_records)
        found = list(manifests(read_values(log, begin, end), domain))
        if found:
            return head_of(max(found, key=lambda each: int(each["position"])))
        last_records *= 4
    return None


def head_of(manifest: dict[str, Any]) -> tuple[LogHead, int]:
    """Return the log head and the offset that a manifest names."""
    check_reader(manifest["reader"], manifest["position"])
    return head_from(manifest["head"]), int(manifest["offset"])


def check_reader(version: int, position: int) -> None:
    """Raise IncompatibleError for what a later reader than this one folded up to a position."""
    if version > READER_VERSION:
        raise IncompatibleError(
            f"the log needs a reader of version {version} from position {position} on, this one is "
            f"{READER_VERSION}; update it"
        )


def manifests(values: dict[bytes, bytes], domain: int) -> Iterator[dict[str, Any]]:
    """Yield the manifests of a domain; what else is under their keys no sequencer wrote."""
    for key, value in values.items():
        if key.startswith(f"{domain}/".encode()) and key.endswith(b"/manifest") and value:
            found = manifest_in(value)
            if found is not None and key == manifest_key(domain, found["position"]):
                yield found


def manifest_in(value: bytes) -> dict[str, Any] | None:
    """Return the manifest that a record holds, None if it holds none."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    is_manifest = isinstance(found, dict) and all(
        isinstance(found.get(name), kind) for name, kind in MANIFEST.items()
    )
    return found if is_manifest else None


def written(values: dict[bytes, bytes], domain: int) -> list[Written]:
    """Return the checkpoints of which the values of the topic hold anything, oldest first.

    Before all others come those without a manifest: who wrote or removed them was killed meanwhile.
    """
    whole = {int(each["position"]) for each in manifests(values, domain)}
    chunks = dict.fromkeys(whole, 0)
    for key in (key for key, value in values.items() if value):
        # What else is in the topic no sequencer wrote, and it is in nobody's way.
        found = CHUNK_KEY.fullmatch(key)
        if found is not None and int(found[1]) == domain:
            position, number = int(found[2]), int(found[3])
            chunks[position] = max(chunks.get(position, 0), number + 1)
    ordered = sorted(chunks, key=lambda each: (each in whole, each))
    return [Written(position, chunks[position]) for position in ordered]


def read_values(log: Log, begin: int, end: int) -> dict[bytes, bytes]:
    """Return the last value of every key between two offsets of the checkpoints topic.

    Raises LogUnavailableError if the broker is away meanwhile.
    """
    values: dict[bytes, bytes] = {}
    with closing(log.reader(Topic.CHECKPOINTS, begin)) as reader:
        while reader.next_offset() < end:
            records = reader.read(READ_MAX, READ_S)
            values.update((record.key, record.value) for record in records)
            if not records:
                # A broker that is away looks to readers like one that has nothing; this tells it.
                end = min(end, log.ends(Topic.CHECKPOINTS)[1])
    return values
