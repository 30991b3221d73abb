"""Every exception the project raises on purpose.

LedgerError
├── SettingsError   the machine or the configuration does not fit
├── JarsError       the Java libraries are missing, damaged or out of reach
└── BrokerError     the embedded Kafka did not start, died, or lost its folder

Each message says what happened, why, and what to do.
"""


class LedgerError(Exception):
    """Root of the tree: catching it catches everything below and nothing else."""


class SettingsError(LedgerError):
    """A setting, or something the settings point at, cannot be used as it is."""


class JarsError(LedgerError):
    """The pinned Java libraries are missing, damaged, or cannot be fetched."""


class BrokerError(LedgerError):
    """The embedded Kafka could not be started, or ended before it was stopped."""
