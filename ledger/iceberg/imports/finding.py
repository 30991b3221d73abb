"""The metadata file of an Iceberg table, found from its folder.

Tables of a catalog have files `<number>-<uuid>.metadata.json`, and the catalog alone knows which of
them counts: a commit that failed leaves one too. Tables without a catalog have files
`v<number>.metadata.json`, made one after the other, and a hint to a late one.
"""

import re
from typing import Final

from ledger.errors import IcebergTableError, SettingsError, StorageError, UnreadableTableError
from ledger.files.storage import Storage, storage_at

FOLDER: Final = "metadata"
HINT: Final = f"{FOLDER}/version-hint.text"
HINT_BYTES_MAX: Final = 64
ENDINGS: Final = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
NUMBERED: Final = re.compile(r"v(\d{1,18})(?:\.gz)?\.metadata\.json(?:\.gz)?")
OF_CATALOG: Final = re.compile(r"(\d{1,18})-[0-9A-Za-z-]+(?:\.gz)?\.metadata\.json(?:\.gz)?")


def metadata_file(path: str, *, newest: bool = False) -> str:
    """Return the path of the metadata file that a path means: a file, or the folder of a table.

    `newest`: in the folder of a catalog's table take the file with the highest number. Raises
    SettingsError for a folder without metadata, and for one in which the newest is not sure.
    """
    if path.endswith(ENDINGS):
        return path
    folder = path.rstrip("/")
    if folder.endswith(f"/{FOLDER}"):
        folder = folder.removesuffix(f"/{FOLDER}")
    try:
        storage = storage_at(folder)
        found = hinted(storage) or listed(storage, newest=newest)
    except (OSError, StorageError, UnreadableTableError) as error:
        raise SettingsError(f"the folder {path} cannot be read: {error}") from error
    return f"{folder}/{found}"


def hinted(storage: Storage) -> str:
    """Return the newest file of a table without a catalog, "" without a hint to one."""
    if not storage.exists(HINT):
        return ""
    with storage.open(HINT) as stream:
        text = bytes(stream.read(HINT_BYTES_MAX)).strip()
    if not text.isdigit():
        raise IcebergTableError(HINT, f"it must be the number of a version, got {text[:20]!r}")
    found = version_file(storage, number := int(text))
    if not found:
        raise IcebergTableError(HINT, f"it names version {number}, whose file is not there")
    # A hint may be late: its writer sets it after the version.
    while later := version_file(storage, number := number + 1):
        found = later
    return found


def version_file(storage: Storage, number: int) -> str:
    """Return the file of a version of a table without a catalog, "" if it is not there."""
    names = (f"{FOLDER}/v{number}{ending}" for ending in ENDINGS)
    return next((name for name in names if storage.exists(name)), "")


def listed(storage: Storage, *, newest: bool) -> str:
    """Return the newest of the metadata files in a folder; raises SettingsError if it is unsure."""
    names = [file.path.removeprefix(f"{FOLDER}/") for file in storage.list(FOLDER)]
    numbered = {name: int(found[1]) for name in names if (found := NUMBERED.fullmatch(name))}
    of_catalog = {name: int(found[1]) for name in names if (found := OF_CATALOG.fullmatch(name))}
    if not numbered and not of_catalog:
        raise SettingsError(
            f"{storage.location} is no Iceberg table: there is no metadata file in {FOLDER}. Name "
            "the folder of the table, or its metadata file"
        )
    if of_catalog and (numbered or not newest):
        raise SettingsError(
            f"the newest metadata file in {storage.location}/{FOLDER} is not sure: its catalog "
            "alone knows it. Name the file that the catalog names, or give --newest for the one "
            "with the highest number"
        )
    known = numbered or of_catalog
    highest = [name for name in known if known[name] == max(known.values())]
    if len(highest) > 1:
        raise SettingsError(
            f"{storage.location}/{FOLDER} has {len(highest)} metadata files of number "
            f"{known[highest[0]]}: a commit that failed left one. Name the file that the catalog "
            "names"
        )
    return f"{FOLDER}/{highest[0]}"


def number_of(name: str) -> int | None:
    """Return the number in the name of a metadata file, None for another name."""
    found = NUMBERED.fullmatch(name) or OF_CATALOG.fullmatch(name)
    return int(found[1]) if found else None
