"""Images of rows in a backup, as the command `backup` takes and verifies them."""

from collections.abc import Callable, Collection
from contextlib import ExitStack
from threading import Event as Signal
from typing import TYPE_CHECKING, Any

from ledger.cli.answers import progress_bar, say

if TYPE_CHECKING:
    from pathlib import Path

    from ledger.backup.images.manifest import ImageManifest
    from ledger.backup.images.taking import StoredSection, TakenImage
    from ledger.backup.manifest import Manifest
    from ledger.backup.place import BackupPlace
    from ledger.config.address import Address


def take_beside(
    place: "BackupPlace",
    address: "Address",
    manifest: "Manifest",
    take_on: Callable[[], object],
    *,
    stop: Signal,
    without: Collection[str] = (),
) -> "TakenImage":
    """Take an image of the rows of this host into a backup; raises as `take_image`.

    Rows may have gone beyond the events that were taken before: then `take_on` takes more.
    """
    from ledger.backup.images.taking import take_image  # noqa: PLC0415 - a command loads only what it uses
    from ledger.config.config import load  # noqa: PLC0415

    with ExitStack() as held, progress_bar("image", transient=True) as progress:
        stored = [
            found
            for section, root in stores_here(address).items()
            if section not in without and (found := opened_section(root, section, held)) is not None
        ]
        if any(each.position > manifest.reached.head.position for each in stored):
            take_on()
        kept = load().settings.log.images
        return take_image(place, stored, stop=stop, without=without, kept=kept, progress=progress)


def stores_here(address: "Address") -> "dict[str, Path]":
    """Return the folders of rows on this host that an image has as sections."""
    from ledger.backup.images.manifest import PUBLICATION, ROWS  # noqa: PLC0415
    from ledger.config.config import load  # noqa: PLC0415
    from ledger.machine.up import PUBLISHER  # noqa: PLC0415

    found = {} if address.store is None else {ROWS: address.store}
    state = load().settings.publisher.store
    if state is None and address.warehouse and address.store is not None:
        # The folder of a ledger that is up on this machine.
        state = address.store.parent / PUBLISHER
    return found if state is None else {**found, PUBLICATION: state.expanduser()}


def opened_section(root: "Path", section: str, held: ExitStack) -> "StoredSection | None":
    """Return the rows in a folder, open until `held` ends; None without rows, which is said."""
    from projections.errors import StoreError, StoreMissingError  # noqa: PLC0415
    from projections.images.stored import stored_section  # noqa: PLC0415

    try:
        found = held.enter_context(stored_section(root, section))
    except StoreMissingError:
        return None
    except StoreError as problem:
        say(f"no image of the {section} at {root} was taken: {problem}")
        return None
    if found is None:
        say(
            f"no image of the {section} at {root} was taken: they have no state checkpoint yet. "
            "The next backup takes one"
        )
    return found


def fields_of_image(taken: "TakenImage") -> dict[str, Any]:
    """Return the fields of the newest image for output."""
    image = taken.image
    if image is None:
        return {"image": None}
    return {
        "image": image.position,
        "image_checkpoint": image.checkpoint,
        "image_digest": image.digest.hex(),
        "image_files": taken.written + taken.shared,
        "image_files_new": taken.written,
    }


def images_verified(place: "BackupPlace", stop: Signal) -> list["ImageManifest"]:
    """Return the images of a backup, each read and compared, until `stop` is set.

    Raises as `verified` at the first one that differs from what was written.
    """
    from ledger.backup.images.manifest import image_names, read_image  # noqa: PLC0415
    from ledger.backup.images.reading import verified  # noqa: PLC0415

    found = list["ImageManifest"]()
    with progress_bar("image", transient=True) as progress:
        for name in image_names(place):
            if stop.is_set():
                break
            image = read_image(place, name)
            verified(place, image, progress)
            found.append(image)
    return found
