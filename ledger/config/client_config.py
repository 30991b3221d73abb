"""The deployment's settings for Kafka's client: the login, and the certificates to trust.

They stand in a file of their own, `name=value` a line, as Kafka's tools take one. The rights of the
file protect its secrets, and no process shows them.
"""

import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ledger.config.layers import path_of
from ledger.config.private import is_read_by_others
from ledger.errors import SettingsError
from ledger.log_lines import LogLines, is_set_up

COMMENTS = ("#", "!")


def client_settings(path: Path | None, setting: str = "client_config") -> Mapping[str, str]:
    """Return the settings of a file by name, {} without a file; `setting` names the file.

    Raises SettingsError for a file that cannot be read, and for a line that sets nothing.
    """
    if path is None:
        return {}
    try:
        file = path_of(str(path), setting)
        text = file.read_text(encoding="utf-8-sig")
        if is_read_by_others(file):
            warn_of(str(file), setting)
    except (OSError, ValueError) as problem:
        raise SettingsError(
            f"{setting} is {path}, which cannot be read ({problem}). Name a file with a setting of "
            "Kafka's client a line, such as security.protocol=SASL_SSL"
        ) from problem
    return dict(
        pair_of(line, f"line {number} of {path}")
        for number, line in enumerate(map(str.strip, text.splitlines()), start=1)
        if line and not line.startswith(COMMENTS)
    )


@cache
def warn_of(file: str, setting: str) -> None:
    """Warn once that other users may read a file with a password."""
    said = f"{setting} is {file}, which users other than its owner can read; do: chmod 600 {file}"
    if is_set_up():
        LogLines("lakeledger.config").warning("a secret may be read", why=said)
    else:
        warnings.warn(said, stacklevel=2)


def pair_of(line: str, place: str) -> tuple[str, str]:
    """Return name and value of a line; raises SettingsError, which does not repeat a secret."""
    name, found, value = line.partition("=")
    if not found or not name.strip():
        raise SettingsError(f"{place} sets nothing; write name=value")
    return name.strip(), value.strip()
