"""The metadata of an Iceberg table as its file has it, read from a permitted place."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from ledger.definitions.locations import is_of_a_disk
from ledger.errors import IcebergTableError, IncompatibleError
from ledger.iceberg.imports.metadata_fields import MetadataShapeError
from ledger.iceberg.imports.source_files import SourceFiles
from ledger.iceberg.table_metadata import (
    BYTES_MAX,
    IcebergMetadata,
    UnknownFormatError,
    read_metadata,
)


def load_metadata(file: str, places: Sequence[str] = ()) -> IcebergMetadata:
    """Return the metadata in a file; raises IcebergTableError, IncompatibleError.

    The file must lie below the location that it names, or below one of `places`.
    """
    data = SourceFiles(file.rpartition("/")[0], places).read(file, BYTES_MAX)
    try:
        metadata = read_metadata(data)
    except UnknownFormatError as error:
        raise IncompatibleError(
            f"the Iceberg table at {file} cannot be imported: {error}"
        ) from error
    except MetadataShapeError as error:
        raise IcebergTableError(file, str(error)) from error
    SourceFiles(metadata.location, places).check_place(file)
    return metadata


def absolute(path: str | PathLike[str]) -> str:
    """Return a path as an absolute one; a URI stays as it is."""
    text = fspath(path)
    if is_of_a_disk(text) and not text.lower().startswith("file:"):
        return str(Path(text).absolute())
    return text
