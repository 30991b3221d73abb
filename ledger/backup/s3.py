"""A backup below a prefix of an S3 bucket, through pyarrow.

S3 shows an object only when it was sent completely, so a file is sent in one piece. S3 has no
locks: two backups must not write below one prefix at once.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final
from urllib.parse import urlsplit

from ledger.backup.errors import BackupError
from ledger.backup.s3_urls import without_login
from ledger.errors import SettingsError

EXTRA: Final = "lakeledger[s3]"


class S3Place:
    """The objects below `s3://bucket/prefix`.

    Login, region and endpoint come from the settings of AWS' own tools, or from the query of the
    URL in pyarrow's form: `?region=eu-central-1&endpoint_override=host:port&scheme=http`. `path`
    keeps these three, so that a reader of it looks at the same store.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.netloc:
            raise SettingsError(
                "a PATH that begins with s3: must be s3://bucket/prefix, and this one names no "
                "bucket. Put ./ before the name of a folder"
            )
        self.path = without_login(url)
        self._shown = self.path.partition("?")[0]
        fs = loaded()
        with refusals_named(self._shown):
            self._system, root = fs.FileSystem.from_uri(url)
        self._root = root.rstrip("/")
        self._selector = fs.FileSelector(self._root, allow_not_found=True)
        self._file_type = fs.FileType.File

    def names(self) -> set[str]:
        """Return the names of the objects directly below the prefix."""
        with refusals_named(self._shown):
            found = self._system.get_file_info(self._selector)
        return {each.base_name for each in found if each.type == self._file_type}

    def read(self, name: str) -> bytes | None:
        """Return the bytes of an object, None if absent."""
        with refusals_named(f"{self._shown}/{name}"):
            try:
                with self._system.open_input_stream(f"{self._root}/{name}") as stream:
                    return bytes(stream.read())
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Send a whole object."""
        with (
            refusals_named(f"{self._shown}/{name}"),
            self._system.open_output_stream(f"{self._root}/{name}") as stream,
        ):
            stream.write(data)

    def remove(self, name: str) -> None:
        """Remove an object that is there."""
        with refusals_named(f"{self._shown}/{name}"):
            self._system.delete_file(f"{self._root}/{name}")

    def alone(self) -> AbstractContextManager[None]:
        """Do nothing: S3 has no locks."""
        return nullcontext()


def loaded() -> Any:
    """Return pyarrow's file systems; raises SettingsError if it is not installed."""
    try:
        from pyarrow import fs  # noqa: PLC0415 - an extra
    except ImportError as problem:
        raise SettingsError(
            f"a backup in S3 needs pyarrow, which is not installed. Install it with: "
            f"pip install '{EXTRA}'"
        ) from problem
    return fs


@contextmanager
def refusals_named(path: str) -> Iterator[None]:
    """Raise BackupError if S3 refuses an operation."""
    try:
        yield
    except (OSError, ValueError) as problem:
        raise BackupError(
            f"{path} cannot be used for a backup: {problem}. Check bucket, login, region and "
            "endpoint; the same command goes on from there"
        ) from problem
