"""What the tests of tables share with those of the SDK: a ledger in memory, and a client of it."""

from tests.sdk.conftest import ledger, log, memory

__all__ = ["ledger", "log", "memory"]
