"""The folder of a ledger on this machine: one `up` at a time, and the rows that its roles keep."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep, time_ns
from typing import IO, Final

from ledger.config.address import LOCK
from ledger.errors import SettingsError
from ledger.machine.kafka.broker_folder import BrokerFolder

HOLD_TRIES = 10
HOLD_PAUSE_S = 0.02
STORE = "store"
SPARK = "spark"
# Below its folder the feeder keeps its rows beside Spark's own checkpoint.
SPARK_ROWS = "rows"
SPARK_CHECKPOINTS = "checkpoints"
BROKER: Final = "broker"
ASIDE: Final = ".aside-"
"""Between the name of a folder that was set aside and the time of that."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock a ledger's folder until the process ends; raises SettingsError if it is locked."""
    with (folder / LOCK).open("w") as lock:
        if not any(hold(lock) for _ in range(HOLD_TRIES)):
            raise SettingsError(
                f"another `lakeledger up` runs in {folder}. Use the ledger that is up there, stop "
                "it first, or choose another --ledger or --home"
            )
        yield


def hold(lock: IO[str]) -> bool:
    """Take a lock; wait a moment, as clients hold it briefly to see whether an `up` does."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sleep(HOLD_PAUSE_S)
        return False
    return True


def row_folders(folder: Path) -> list[Path]:
    """Return the folders in which roles of a ledger may keep rows."""
    return [folder / STORE, folder / SPARK / SPARK_ROWS]


def folders_aside(folder: Path) -> list[Path]:
    """Return the folders of former rows and of a former broker that lie in a ledger's folder."""
    return sorted(folder.glob(f"*{ASIDE}*"))


def remove_folder(rows: Path) -> None:
    """Remove a folder of rows; raises SettingsError if it cannot be removed."""
    try:
        shutil.rmtree(rows)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise SettingsError(
            f"the rows in {rows} cannot be removed ({problem}). Remove that folder, or make it one "
            "that this user may write to; the log still holds everything"
        ) from problem


def set_broker_aside(folder: Path) -> Path:
    """Move the data of the embedded Kafka aside, so that its next start makes an empty one.

    Nothing is deleted; the new place is returned. Raises BrokerError while a broker uses the data,
    SettingsError if it cannot be moved.
    """
    data = folder / BROKER
    kept = data.with_name(f"{BROKER}{ASIDE}{time_ns()}")
    try:
        with BrokerFolder(data).lock():
            data.rename(kept)
    except OSError as problem:
        raise SettingsError(
            f"the data of Kafka in {data} cannot be set aside ({problem}). Move that folder away, "
            "or make it one that this user may write to, then repeat the command"
        ) from problem
    return kept
