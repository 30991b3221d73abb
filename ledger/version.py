"""The versions that travel in a Fenced: what wrote the log, and what it takes to read it."""

from typing import Final

CODE_VERSION: Final = 2
# Raised only when readers of an earlier version would fold the log to another state.
READER_VERSION: Final = 2
