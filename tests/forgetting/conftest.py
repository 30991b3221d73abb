"""What these tests share: a ledger in memory and a client of it."""

from tests.sdk.conftest import ledger, log, memory

__all__ = ["ledger", "log", "memory"]
