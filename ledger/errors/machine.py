"""Errors of a machine: its settings, its Java libraries, its embedded Kafka, its processes."""

from ledger.errors.root import LedgerError


class SettingsError(LedgerError):
    """A setting, or what it points at, cannot be used as it is."""


class LedgerDownError(SettingsError):
    """No ledger is up here: it was never started, was stopped, or its `up` was killed."""


class JarsError(LedgerError):
    """The pinned Java libraries are missing, damaged, or cannot be fetched."""


class BrokerError(LedgerError):
    """The embedded Kafka did not start, or ended before it was stopped."""


class BrokerDamagedError(BrokerError):
    """The folder of the embedded Kafka lacks data, or Kafka left a topic out."""


class RoleEndedError(LedgerError):
    """A role failed in a way that a restart would repeat.

    `code` is its exit code, and becomes the exit code of the command that needs the role.
    """

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code
