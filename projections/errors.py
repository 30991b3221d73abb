"""What can go wrong with a row store.

StoreError
├── StoreMissingError      no store was written there, or it was removed
├── StoreLockedError       another process writes it
├── StoreForeignError      its rows come from another log (also a SettingsError)
├── StoreVersionError      its rows have another format (also an IncompatibleError)
├── StoreDamagedError      its files are damaged
├── CacheTopicMissingError there is no cache topic: no feeder has published yet
├── NothingPublishedError  the cache topic holds no rows of this log
├── PublishedLoadingError  the cache topic is being read
├── StoreUnavailableError  the operating system refuses: disk full, no permission, files replaced
└── StoreClosedError       used after close
PublishedElsewhereError    another process publishes to the same cache topic

The log holds all that a store holds: a rebuild repairs every damage.
"""

from pathlib import Path
from typing import Final

from ledger.errors import IncompatibleError, LedgerError, SettingsError

PUBLISH = "Run one `lakeledger serve feeder --publish` on a host that reads the events"
_END = " ."  # Messages of RocksDB and of the operating system may end so.


class StoreError(LedgerError):
    """A row store could not be opened, read or written."""


class StoreMissingError(StoreError):
    """There is no store to read; only the process that writes it creates it."""

    retry_unchanged = True

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"no store at {root}: no process has published one there, or it was removed. Start the "
            "process that writes it, or correct the path, then open it again"
        )
        self.root = root


class StoreLockedError(StoreError):
    """Another process writes this store; `holder` describes that process."""

    retry_unchanged = True

    def __init__(self, root: Path, holder: str) -> None:
        super().__init__(
            f"the store at {root} is being written by {holder}, and a store has one writer. Stop "
            "that process, choose another directory, or open the store for reading only"
        )
        self.root = root
        self.holder = holder


OLDER: Final = (
    "The role of this version that writes the rows makes them anew by itself: start it, or wait "
    "until it has caught up"
)
NEWER: Final = (
    "Run the version of the program that wrote them, or make the rows anew with --rebuild, of "
    "lakeledger up or of the role that writes them"
)


class StoreVersionError(StoreError, IncompatibleError):
    """The rows are laid out by version `found`, this program reads and writes `wanted`."""

    def __init__(self, found: int, wanted: int) -> None:
        super().__init__(
            f"the store must hold rows of format {wanted}, got format {found}. "
            + (OLDER if found < wanted else NEWER)
        )
        self.found = found
        self.wanted = wanted


class StoreForeignError(StoreError, SettingsError):
    """The rows were made from another log than the configured one."""

    def __init__(self, rows_topic: str, log_topic: str) -> None:
        super().__init__(
            f"the rows of the store come from topic {rows_topic}, the configured log is topic "
            f"{log_topic}; nothing was changed. Follow the log that the rows come from, or make "
            "them anew from this one with --rebuild"
        )
        self.rows_topic = rows_topic
        self.log_topic = log_topic


class StoreDamagedError(StoreError):
    """The files of the store are damaged or incomplete."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"the store at {path} is damaged: {what.rstrip(_END)}. The log still holds everything: "
            "check the disk, and make the rows anew with --rebuild, of lakeledger up or of the "
            "role that writes them"
        )
        self.path = path


class StoreUnavailableError(StoreError):
    """The operating system refused; nothing of the present change was stored."""

    retry_unchanged = True

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"the store at {path} cannot be used: {what.rstrip(_END)}. Check free space, "
            "permissions and the limit of open files, then open it again"
        )
        self.path = path


class CacheTopicMissingError(StoreError):
    """There is no cache topic; the first feeder that publishes creates it."""

    retry_unchanged = True

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"there is no topic {topic}: no feeder has published rows of this ledger yet. "
            f"{PUBLISH}, or set cache.source to events where this host has rows"
        )
        self.topic = topic


class NothingPublishedError(StoreError):
    """The cache topic was read to its end, and holds no whole batch of rows of this log."""

    retry_unchanged = True

    def __init__(self, end: int) -> None:
        super().__init__(
            f"no rows of this ledger are published: its cache topic ends at offset {end} without a "
            f"whole batch of rows. {PUBLISH}"
        )
        self.end = end


class PublishedLoadingError(StoreError):
    """The cache topic is being read: `offset` comes next, the cache answers from `end` on."""

    retry_unchanged = True

    def __init__(self, offset: int, end: int) -> None:
        super().__init__(
            f"the cache topic is being read: offset {offset} of {end} comes next. Ask again when "
            "/readyz answers 200"
        )
        self.offset = offset
        self.end = end


class StoreClosedError(StoreError):
    """The store was closed, perhaps during a scan."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is closed; open it again")


class PublishedElsewhereError(LedgerError):
    """The cache topic ended at `found`, where this writer's batch would have ended at `wanted`."""

    retry_unchanged = True

    def __init__(self, wanted: int, found: int) -> None:
        super().__init__(
            f"the cache topic must end at offset {wanted}, got {found}: another feeder publishes "
            "to it. Readers take no batch until a single feeder has compared the topic with its "
            "store; let one feeder publish and start it anew"
        )
        self.wanted = wanted
        self.found = found
