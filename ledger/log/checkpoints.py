"""State checkpoints: the state of a domain as canonical bytes, in the checkpoints topic.

A checkpoint is JSON of the state's canonical form, so equal states give equal bytes and one digest.
In the topic it is compressed and cut into chunks, each under its own key. The manifest comes last
and names the chunks, so half a checkpoint never passes for a whole one. Recovery is the newest
whole checkpoint and the tail of the log after it.
"""

import gc
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ledger.core.acceptance import LogHead, head_form, head_from
from ledger.core.limits import CHECKPOINT_CHUNK_BYTES
from ledger.errors import IncompatibleError
from ledger.log.port import Log, LogWriter, Topic, records_between
from ledger.version import DIGEST_READER, READER_VERSION

if TYPE_CHECKING:
    from ledger.core.state.domain import DomainState

READ_S = 5.0
FORMAT = 3
# Format 2 holds only the position of the change that named a table.
FORMATS_READ = frozenset({2, FORMAT})
# A manifest comes after its chunks, and before the tombstones of the checkpoint it replaces.
LAST_RECORDS = 16
CHUNK_KEY = re.compile(rb"([0-9]+)/([0-9]+)/([0-9]+)")
# The fields of every manifest, with their types.
MANIFEST: Final = {
    "position": int,
    "head": list,
    "offset": int,
    "reader": int,
    "chunks": int,
    "sha256": str,
}
# Reading one event takes about as long as loading this many bytes of a checkpoint: 20 us.
BYTES_PER_POSITION = 500
# The checkpoint before the newest is kept for a process that is just reading it.
KEPT = 2


class Checkpoint(NamedTuple):
    """A state, its log head, and the offset of the next record in events."""

    state: "DomainState"
    head: LogHead
    offset: int


class Written(NamedTuple):
    """A checkpoint in the topic: its position and the number of its chunks."""

    position: int
    chunks: int


def dump(state: "DomainState", head: LogHead, offset: int, reader: int = READER_VERSION) -> bytes:
    """Return the canonical bytes of a checkpoint."""
    import msgspec  # noqa: PLC0415 - most programs read only the head of a checkpoint

    from ledger.core.evolve.form import state_form  # noqa: PLC0415

    form = {"format": FORMAT, "reader": reader, "offset": offset, **state_form(state, head)}
    return msgspec.json.encode(form, order="sorted")


def load(data: bytes) -> Checkpoint:
    """Return the checkpoint in `data`.

    Raises IncompatibleError for another format, and for the state of a later reader version.
    """
    import msgspec  # noqa: PLC0415 - most programs read only the head of a checkpoint

    from ledger.core.evolve.form import state_from  # noqa: PLC0415

    with uncollected():
        form = msgspec.json.decode(data)
        if form.get("format") not in FORMATS_READ:
            raise IncompatibleError(
                f"the checkpoint has format {form.get('format')}, this version reads {FORMAT}; "
                "update this version, or start from the beginning of the log"
            )
        state, head = state_from(form)
    check_reader(form.get("reader", 0), head.position)
    return Checkpoint(state, head, form["offset"])


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the garbage collector off for the block, which makes millions of live objects.

    The collector would scan all of them again and again, which doubles the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def digest(state: "DomainState", head: LogHead) -> str:
    """Return a digest that is equal iff state and head are, also in another version's program."""
    return sha256(dump(state, head, 0, DIGEST_READER)).hexdigest()


def positions_after(size: int, least: int) -> int:
    """Return the number of positions from a checkpoint of `size` bytes to the next one.

    It is at least `least`. For a large state it is the number of events that are read in the time
    of loading it. With fewer, a standby would mostly write checkpoints, and it does not fold then.
    """
    return max(least, size // BYTES_PER_POSITION)


class CheckpointWriter:
    """Writes checkpoints of one domain into the topic and removes older ones.

    `before` are the checkpoints of other processes in the topic, oldest first.
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
    """Return the key of one chunk of the checkpoint at a position."""
    return f"{domain}/{position}/{number}".encode()


def manifest_key(domain: int, position: int) -> bytes:
    """Return the key of the manifest, which ends the checkpoint at a position."""
    return f"{domain}/{position}/manifest".encode()


def read_newest(log: Log, domain: int) -> Checkpoint | None:
    """Return the newest whole checkpoint of a domain, or None.

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
    """Return the log head of the newest checkpoint and its next offset in events, or None.

    Reads only the end of the topic, not the state. Raises IncompatibleError if the events that
    follow need a later reader, and as `read_values`.
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
    """Raise IncompatibleError if a later reader version folded the log up to a position."""
    if version > READER_VERSION:
        raise IncompatibleError(
            f"the log needs a reader of version {version} from position {position} on, this one is "
            f"{READER_VERSION}; update this reader"
        )


def manifests(values: dict[bytes, bytes], domain: int) -> Iterator[dict[str, Any]]:
    """Yield the manifests of a domain, without records under their keys that are no manifests."""
    for key, value in values.items():
        if key.startswith(f"{domain}/".encode()) and key.endswith(b"/manifest") and value:
            found = manifest_in(value)
            if found is not None and key == manifest_key(domain, found["position"]):
                yield found


def manifest_in(value: bytes) -> dict[str, Any] | None:
    """Return the manifest in a record, or None."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    is_manifest = isinstance(found, dict) and all(
        isinstance(found.get(name), kind) for name, kind in MANIFEST.items()
    )
    return found if is_manifest else None


def written(values: dict[bytes, bytes], domain: int) -> list[Written]:
    """Return all checkpoints with a manifest or chunks in the values of the topic, oldest first.

    Checkpoints without a manifest come first: a process was killed while it wrote or removed them.
    """
    whole = {int(manifest["position"]) for manifest in manifests(values, domain)}
    chunks = dict.fromkeys(whole, 0)
    for key in (key for key, value in values.items() if value):
        # A record under any other key does no harm.
        found = CHUNK_KEY.fullmatch(key)
        if found is not None and int(found[1]) == domain:
            position, number = int(found[2]), int(found[3])
            chunks[position] = max(chunks.get(position, 0), number + 1)
    ordered = sorted(chunks, key=lambda each: (each in whole, each))
    return [Written(position, chunks[position]) for position in ordered]


def read_values(log: Log, begin: int, end: int) -> dict[bytes, bytes]:
    """Return the last value of every key between two offsets of the checkpoints topic.

    Raises LogUnavailableError if the broker becomes unreachable.
    """
    records = records_between(log, Topic.CHECKPOINTS, begin, end, READ_S, may_be_late=True)
    return {record.key: record.value for record in records}
