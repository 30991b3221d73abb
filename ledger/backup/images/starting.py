"""Beginning with an image: where it is looked for, and which one fits a log.

A process with nothing of its own looks for the newest image of the log that it is to read. On a
log that was trimmed the mark of the trim names the backup. On any other log the events are all
there, so an image only saves time, and one that cannot be used costs a line in the log. So does an
image of events that the log has lost since, or without the rows of a process that is new: on a
trimmed log the events in the backup are read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeVar

from ledger.backup.errors import BackupError, ImageForeignError, ImageLacksError, ImageLostError
from ledger.backup.images.held import lost_position
from ledger.backup.images.manifest import ROWS, ImageManifest, image_names, read_image
from ledger.backup.images.reading import check_proved, checkpoint_of
from ledger.backup.joined import UNUSABLE, joined_log
from ledger.backup.place import BackupPlace, open_place
from ledger.errors import IncompatibleError, LogTrimmedError
from ledger.log.port import Log, Topic
from ledger.log.trimmed import SectionProof, TrimMark, start_of
from ledger.log_lines import LogLines

if TYPE_CHECKING:
    from ledger.log.checkpoints import Checkpoint

OFF: Final = "off"
"""Instead of a path: begin with no image."""
Begun = TypeVar("Begun")
LEAVES_EVENTS: Final = (ImageForeignError, ImageLacksError, ImageLostError)
"""The errors of an image beside which the events in its backup can be read instead."""

log_lines = LogLines("lakeledger.image")


class FoundImage(NamedTuple):
    """An image with which a process can begin, and the backup that it lies in."""

    place: BackupPlace
    image: ImageManifest


@dataclass(frozen=True, slots=True)
class StartImages:
    """Where a process that begins anew looks for an image.

    `path` is a backup, "off" for none; without it, it is the backup that the trim of a log names.
    With `is_asked` an image that cannot be used is an error on any log.
    """

    path: str | None = None
    is_asked: bool = False

    def begin(
        self,
        log: Log,
        use: Callable[[FoundImage], Begun],
        section: str = ROWS,
        form: int | None = None,
        domain: int = 0,
    ) -> Begun | None:
        """Return what `use` makes of the newest image that fits a log; None = begin with events.

        An image fits if it has the section in this `form`. Raises LogTrimmedError if the log was
        trimmed and no image can be used, and for images that were asked for, as `used_newest`.
        Images of lost events, of another topic or without the section are no error: then `whole`
        is to be read.
        """
        if self.path == OFF:
            return None
        mark = start_of(log, domain).mark
        path = self.path or (None if mark is None else mark.archive)
        if path is None:
            return None
        try:
            return used_newest(open_place(path), Wanted.of(log, section, form, mark), use)
        except UNUSABLE as problem:
            if mark is not None and not isinstance(problem, LEAVES_EVENTS):
                raise unusable(mark, problem) from problem
            if self.is_asked:
                raise
            log_lines.warning("reading all events, without an image", why=str(problem))
            return None

    def checkpoint(self, log: Log, domain: int = 0) -> "Checkpoint | None":
        """Return the state checkpoint of the newest image; None and errors are as for `begin`."""
        return self.begin(log, lambda found: checkpoint_of(*found), domain=domain)

    def whole(self, log: Log, domain: int = 0) -> Log:
        """Return a log with all its events, with "off" as it is; raises as `joined_log`."""
        return log if self.path == OFF else joined_log(log, self.path, domain)


def start_at(
    log: Log, newest: "Checkpoint | None", images: StartImages, domain: int = 0
) -> "Checkpoint":
    """Return the checkpoint to read a log from: the newest of the topic, or the one of an image.

    The image counts where the topic has none, or one that needs events from before the log begins.
    Without either it is the beginning of the ledger, or the state where a trimmed log begins, made
    of the events in its backup. Raises as `StartImages.begin`.
    """
    from ledger.core.acceptance import LogHead  # noqa: PLC0415 - with the state
    from ledger.core.evolve.evolve import evolve  # noqa: PLC0415
    from ledger.core.state.domain import DomainState  # noqa: PLC0415
    from ledger.log.checkpoints import Checkpoint  # noqa: PLC0415
    from ledger.log.replay import Replay  # noqa: PLC0415

    first = log.ends(Topic.EVENTS)[0]
    if newest is not None and (newest.offset > first or not first):
        return newest
    begun = images.checkpoint(log, domain)
    mark = start_of(log, domain).mark
    if begun is not None or mark is None or images.path == OFF:
        return begun or newest or Checkpoint(DomainState(), LogHead(), 0)
    state = DomainState()
    for event in takewhile(
        lambda event: event.control.position < mark.below, Replay(images.whole(log, domain))
    ):
        evolve(state, event)
    return Checkpoint(state, mark.head.copy(), mark.offset)


BY_TRIM: Final = StartImages()
"""Only on a log that was trimmed, from the backup that its mark names."""
NO_IMAGES: Final = StartImages(OFF)


class Wanted(NamedTuple):
    """The section that an image must have, its form, and the log that it must be of.

    `first` is the first offset that the log has, `proofs` are of the image that its trim verified.
    """

    log: Log
    section: str
    form: int | None
    topic: str
    first: int
    proofs: tuple[SectionProof, ...]

    @classmethod
    def of(cls, log: Log, section: str, form: int | None, mark: TrimMark | None) -> Self:
        """Return what an image must have for a reader of a log that a trim marked."""
        proofs = () if mark is None else mark.proofs
        topic, first = log.topic_id(Topic.EVENTS), log.ends(Topic.EVENTS)[0]
        return cls(log, section, form, topic, first, proofs)

    def check(self, place: BackupPlace, image: ImageManifest) -> None:
        """Raise the error of an image that does not fit: its log, section, form or position."""
        found = image.sections.get(self.section)
        here = f"the image {image.file} in {place.path}"
        again = f"Take one on a host with these rows: lakeledger backup {place.path}"
        if image.topic != self.topic:
            raise ImageForeignError(
                f"{here} is of the events topic {image.topic}, and the log is topic {self.topic}: "
                "another ledger, or this one before a restore. Name a backup of this log with "
                "--image, or --image off"
            )
        if found is None:
            raise ImageLacksError(f"{here} has no section {self.section}. {again}")
        if self.form is not None and found.format != self.form:
            raise IncompatibleError(
                f"{here} holds {self.section} of format {found.format}, this version reads "
                f"{self.form}. Use the version of LakeLedger that wrote it, or let a host with "
                f"rows of this version take one: lakeledger backup {place.path}"
            )
        if found.checkpoint.offset <= self.first and self.first:
            raise BackupError(
                f"{here} needs the events from position {found.checkpoint.position} on, and the "
                f"log begins behind it. {again}"
            )
        check_proved(place, image, self.section, self.proofs)
        lost = lost_position(self.log, place, image, self.section)
        if lost is not None:
            raise ImageLostError(
                f"{here} is of events that the log has lost: it has another event at position "
                f"{lost}. Take an image into a new backup, since this one may be the last copy "
                "of what was lost: lakeledger backup PATH"
            )


def used_newest(place: BackupPlace, wanted: Wanted, use: Callable[[FoundImage], Begun]) -> Begun:
    """Return what `use` makes of the newest image that fits and is whole.

    Meanwhile a backup may remove an image, so they are listed again after each one that cannot be
    used. Raises the error of the first one, BackupError without any.
    """
    tried, first = set[str](), None
    while names := [name for name in image_names(place) if name not in tried]:
        tried.add(names[0])
        try:
            image = read_image(place, names[0])
            wanted.check(place, image)
            log_lines.info("beginning with an image", image=image.file, place=place.path)
            return use(FoundImage(place, image))
        except UNUSABLE as problem:
            log_lines.info("an image cannot be used", image=names[0], why=str(problem))
            first = first or problem
    raise first or BackupError(
        f"there is no image of rows in {place.path}. Take one on a host with rows: "
        f"lakeledger backup {place.path}"
    )


def unusable(mark: TrimMark, problem: Exception) -> LogTrimmedError:
    """Return the error for a trimmed log whose image cannot be used."""
    return LogTrimmedError(
        f"the events below position {mark.below} were trimmed from the log, and there is no image "
        f"to begin with: {problem}. The trim named the backup {mark.archive}; if it lies elsewhere "
        "now, name it with --image PATH or the setting log.archive",
        below=mark.below,
        archive=mark.archive,
    )
