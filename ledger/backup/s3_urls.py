"""URLs of S3 as they may be shown and recorded."""

from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

S3: Final = "s3:"
KEPT: Final = frozenset({"region", "endpoint_override", "scheme"})
"""The parts of the query of an S3 URL that lead to the bucket; others may hold a login."""


def without_login(path: str) -> str:
    """Return the path of a place as it may be shown and recorded: without user and password.

    What leads to a store other than AWS' own stays.
    """
    if not path.startswith(S3):
        return path
    parts = urlsplit(path)
    kept = [(name, each) for name, each in parse_qsl(parts.query) if name in KEPT]
    query = f"?{urlencode(kept, safe=':/')}" if kept else ""
    return f"s3://{(parts.netloc.rpartition('@')[2] + parts.path).rstrip('/')}{query}"
