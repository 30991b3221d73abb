"""What can go wrong with a row store.

StoreError
├── StoreMissingError      nothing was ever stored there, or it was removed
├── StoreLockedError       another process writes it
├── StoreForeignError      its rows were made from another log (also a SettingsError)
├── StoreVersionError      its rows are laid out by another version (also an IncompatibleError)
├── StoreDamagedError      its files do not hold what was written
├── CacheTopicMissingError there is no cache topic: nobody has published to it yet
├── NothingPublishedError  the cache topic holds no rows of this log
├── PublishedLoadingError  what it holds is being read
├── StoreUnavailableError  the operating system refuses: disk full, no permission, files in motion
└── StoreClosedError       used after close
PublishedElsewhereError    another process publishes to the same cache topic

A store holds nothing that the log does not hold: the way out of every damage is to rebuild it.
"""

from pathlib import Path

from ledger.errors import IncompatibleError, LedgerError, SettingsError

PUBLISH = "Run one `lakeledger serve feeder --publish` on a host that reads the events"
_END = " ."  # How sentences of RocksDB and of the operating system may end.


class StoreError(LedgerError):
    """A row store could not be opened, read or written."""


class StoreMissingError(StoreError):
    """There is no store to read; only the process that writes it creates it."""

    retry_unchanged = True

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"no store at {root}: nothing was published there yet, or it was removed. Start the "
            "process that writes it, or correct the path, then open it again"
        )
        self.root = root


class StoreLockedError(StoreError):
    """Another process writes this store; `holder` is what that process says of itself."""

    retry_unchanged = True

    def __init__(self, root: Path, holder: str) -> None:
        super().__init__(
            f"the store at {root} is being written by {holder}, and a store has one writer. Stop "
            "that process, choose another directory, or open the store for reading only"
        )
        self.root = root
        self.holder = holder


class StoreVersionError(StoreError, IncompatibleError):
    """The rows are laid out by version `found`, this program reads and writes `wanted`."""

    def __init__(self, found: int, wanted: int) -> None:
        super().__init__(
            f"the store holds rows of format {found}, this program wants {wanted}. Make the "
            "rows anew with --rebuild, of lakeledger up or of the role that writes them, or run "
            "the program that did"
        )
        self.found = found
        self.wanted = wanted


class StoreForeignError(StoreError, SettingsError):
    """The rows were made from another log than the one at hand."""

    def __init__(self, rows_topic: str, log_topic: str) -> None:
        super().__init__(
            f"the store was made from topic {rows_topic}, the log at hand is topic {log_topic}; "
            "nothing was changed. Follow the log the rows come from, or make them anew from this "
            "one with --rebuild"
        )
        self.rows_topic = rows_topic
        self.log_topic = log_topic


class StoreDamagedError(StoreError):
    """The files of the store do not hold what was written to them."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"the store at {path} is damaged: {what.rstrip(_END)}. The log still holds everything: "
            "look after the disk, and make the rows anew with --rebuild, of lakeledger up or of "
            "the role that writes them"
        )
        self.path = path


class StoreUnavailableError(StoreError):
    """The operating system refused; nothing of the change at hand was stored."""

    retry_unchanged = True

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"the store at {path} cannot be used: {what.rstrip(_END)}. See to free space, "
            "permissions and the limit of open files, then open it again"
        )
        self.path = path


class CacheTopicMissingError(StoreError):
    """There is no cache topic; the first feeder that publishes creates it."""

    retry_unchanged = True

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"there is no topic {topic}: nobody has published rows of this ledger yet. {PUBLISH}, "
            "or set cache.source to events where this host has rows"
        )
        self.topic = topic


class NothingPublishedError(StoreError):
    """The cache topic was read to its end, and holds no whole batch of rows of this log."""

    retry_unchanged = True

    def __init__(self, end: int) -> None:
        super().__init__(
            f"nothing of this ledger is published: its cache topic ends at offset {end} without a "
            f"whole batch of rows. {PUBLISH}"
        )
        self.end = end


class PublishedLoadingError(StoreError):
    """The cache topic is being read: `offset` comes next, at `end` there will be answers."""

    retry_unchanged = True

    def __init__(self, offset: int, end: int) -> None:
        super().__init__(
            f"what was published is being read, offset {offset} of {end} comes next. Ask again "
            "when /readyz says that it was"
        )
        self.offset = offset
        self.end = end


class StoreClosedError(StoreError):
    """The store was closed, or the scan outlived it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is closed; open it again")


class PublishedElsewhereError(LedgerError):
    """The cache topic ended at `found`, where this writer's batch would have ended at `wanted`."""

    retry_unchanged = True

    def __init__(self, wanted: int, found: int) -> None:
        super().__init__(
            f"the cache topic ends at offset {found} instead of {wanted}: somebody else publishes "
            "to it. Readers take no batch before a publisher that is alone has compared the topic "
            "with its store; let one feeder publish and start it anew"
        )
        self.wanted = wanted
        self.found = found
