"""The versions in a Fenced event: which code wrote the log, and which readers can read it."""

from typing import Final

CODE_VERSION: Final = 3
# Raised only when readers of an earlier version would fold the log to another state.
READER_VERSION: Final = 5
# The reader version within digests: a state without new kinds of content keeps its digest.
DIGEST_READER: Final = 2
