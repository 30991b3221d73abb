"""What becomes of trims of the log, as tables of refusals and of answers."""

from ledger.core.acceptance import LogHead
from ledger.core.commands import TrimLog
from ledger.core.events.events import LogTrimmed, RecordsTrimmed
from ledger.core.evolve.form import state_form, state_from
from ledger.core.limits import ARCHIVE_CHARS_MAX, DIGEST_BYTES_MAX
from ledger.core.refusals import Reason
from tests.core.scene import Refusal, Scene, refuses

PLACE, DIGEST = "s3://lake/backup", b"the digest"


def trim(
    scene: Scene, below: int, *, image: int = -1, archive: str = PLACE, digest: bytes = DIGEST
) -> TrimLog:
    at = scene.state.position if image < 0 else image
    return TrimLog(*scene.asks(scene.ada), below, archive, at, digest, "room")


def again(scene: Scene) -> TrimLog:
    scene.internal(RecordsTrimmed(4))
    return trim(scene, 3)


TRIMS = [
    Refusal(Reason.COMMAND_INVALID, "got 0", lambda s: trim(s, 0)),
    Refusal(Reason.COMMAND_INVALID, "got 1", lambda s: trim(s, 1)),
    Refusal(Reason.COMMAND_INVALID, "the newest position", lambda s: trim(s, s.state.position + 1)),
    Refusal(Reason.COMMAND_INVALID, "image", lambda s: trim(s, 4, image=3)),
    Refusal(Reason.COMMAND_INVALID, "image", lambda s: trim(s, 2, image=s.state.position + 1)),
    Refusal(Reason.COMMAND_INVALID, "archive", lambda s: trim(s, 2, archive="")),
    Refusal(
        Reason.COMMAND_INVALID, "archive", lambda s: trim(s, 2, archive="a" * ARCHIVE_CHARS_MAX * 2)
    ),
    Refusal(Reason.COMMAND_INVALID, "digest", lambda s: trim(s, 2, digest=b"")),
    Refusal(
        Reason.COMMAND_INVALID, "digest", lambda s: trim(s, 2, digest=bytes(DIGEST_BYTES_MAX + 1))
    ),
    Refusal(Reason.COMMAND_INVALID, "begins at position 4", again),
    Refusal(
        Reason.LOG_HELD,
        "is open since position",
        lambda s: trim(s, s.state.position),
        lambda s: min(s.state.txns.open.values(), key=lambda txn: txn.opened).txn,
    ),
]
test_refused = refuses(TRIMS)


def test_a_trim_is_noted_until_the_next_one() -> None:
    scene = Scene()
    assert scene.state.trimmed is None
    scene.ask(trim(scene, 2))
    assert scene.ask(trim(scene, 3, image=4)).body == LogTrimmed(3, PLACE, 4, DIGEST, "room")
    trimmed = scene.state.trimmed
    assert trimmed is not None
    assert trimmed == (scene.state.position, 3, PLACE, 4, DIGEST)


def test_a_trim_that_removed_nothing_forbids_none() -> None:
    scene = Scene()
    scene.ask(trim(scene, 5))
    scene.ask(trim(scene, 3))
    assert scene.state.begins == 1
    scene.internal(RecordsTrimmed(3))
    assert scene.state.begins == 3
    assert isinstance(scene.ask(trim(scene, 3)).body, LogTrimmed)


def test_a_txn_that_opened_at_the_position_or_later_holds_nothing() -> None:
    scene = Scene()
    opened = min(txn.opened for txn in scene.state.txns.open.values())
    assert isinstance(scene.ask(trim(scene, opened)).body, LogTrimmed)


def test_a_checkpoint_keeps_the_trim() -> None:
    scene = Scene()
    plain = state_form(scene.state, LogHead())
    scene.ask(trim(scene, 2))
    scene.internal(RecordsTrimmed(2))
    form = state_form(scene.state, LogHead())
    assert not {"trimmed", "begins"} & plain.keys()
    again = state_from(form)[0]
    assert (again.trimmed, again.begins) == (scene.state.trimmed, 2)
