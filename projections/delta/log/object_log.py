"""The files of one published log in S3: an object is written once, whole or not at all.

S3 itself refuses a new object under a name that is taken, so two publishers need no lock.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ledger.core.partitions.file_paths import parts_of
from ledger.errors.storage import refused
from projections.delta.actions.schema_json import UnpublishableError
from projections.delta.log.log_folder import LOG_FOLDER, SAFE, THEN, LogFiles, LogFolder, aside_name

S3 = frozenset({"s3", "s3a", "s3n"})


def log_at(table: str) -> LogFiles:
    """Return the log of the table at a place; raises UnpublishableError for an unknown place."""
    scheme, authority, path = parts_of(table)
    return ObjectLog(authority, path) if scheme in S3 else LogFolder(table)


@contextmanager
def refusals(place: str) -> Iterator[None]:
    """Raise StorageError if S3 refuses an access."""
    from obstore.exceptions import BaseError  # noqa: PLC0415 - an extra

    try:
        yield
    except (BaseError, OSError) as problem:
        said = OSError(f"S3 refused an access: {problem}")
        raise refused(place, said, safe=SAFE, then=THEN) from problem


class ObjectLog(LogFiles):
    """The objects of a log, below `_delta_log` of the table at a path of a bucket."""

    def __init__(self, bucket: str, path: str) -> None:
        self._folder = f"{path.strip('/')}/{LOG_FOLDER}".lstrip("/")
        self._bucket = bucket
        self._store = s3_store(bucket, self._folder)

    def place(self, name: str) -> str:
        return f"s3://{self._bucket}/{self._folder}/{name}".rstrip("/")

    def names(self) -> list[str]:
        with refusals(self.place("")):
            found = [each["path"] for page in self._store.list() for each in page]
        return sorted(each for each in found if "/" not in each and not each.startswith("."))

    def read(self, name: str) -> bytes | None:
        with refusals(self.place(name)), suppress(FileNotFoundError):
            return bytes(self._store.get(name).bytes())
        return None

    def has(self, name: str) -> bool:
        with refusals(self.place(name)), suppress(FileNotFoundError):
            self._store.head(name)
            return True
        return False

    def delete(self, name: str) -> None:
        with refusals(self.place(name)):
            self._store.delete(name)

    def date(self, name: str, at_ms: int) -> None:
        """Do nothing: S3 gives an object the time of its writing."""

    def put(self, name: str, data: bytes, at_ms: int) -> bool:  # noqa: ARG002 - as above
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415 - an extra

        with refusals(self.place(name)), suppress(AlreadyExistsError):
            self._store.put(name, data, mode="create")
            return True
        return False

    def set_aside(self, name: str, folder: str = "") -> str:
        kept = aside_name(name, folder)
        with refusals(self.place(name)):
            self._store.rename(name, kept)
        return self.place(kept)

    def replace(self, name: str, data: bytes) -> None:
        with refusals(self.place(name)):
            self._store.put(name, data)


def s3_store(bucket: str, prefix: str) -> Any:
    """Return the objects of a bucket below a prefix, with the settings of AWS' own tools.

    Raises UnpublishableError without the extra.
    """
    try:
        from obstore.store import S3Store  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UnpublishableError(
            "a published log in S3 needs pip install 'lakeledger[s3]' where the publisher runs"
        ) from error
    variables = os.environ
    endpoint = variables.get("AWS_ENDPOINT_URL_S3") or variables.get("AWS_ENDPOINT_URL") or ""
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or "us-east-1"
    if not endpoint:
        return S3Store(bucket, prefix=prefix, region=region)
    return S3Store(
        bucket,
        prefix=prefix,
        region=region,
        endpoint=endpoint,
        client_options={"allow_http": endpoint.startswith("http://")},
    )
