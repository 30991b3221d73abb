"""The settings that a deployment brings for Kafka's client: how to log in, and whom to trust.

They stand in a file of their own, `name=value` a line, as the tools of Kafka take one: what is
secret in it is then kept by the rights of the file, and no process shows it.
"""

from collections.abc import Mapping
from pathlib import Path

from ledger.errors import SettingsError
from ledger.paths import path_of

COMMENTS = ("#", "!")


def client_settings(path: Path | None, setting: str = "client_config") -> Mapping[str, str]:
    """Return the settings of a file by their names, none without a file; `setting` has named it.

    Raises SettingsError for a file that cannot be read, and for a line that sets nothing.
    """
    if path is None:
        return {}
    try:
        text = path_of(str(path), setting).read_text(encoding="utf-8-sig")
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


def pair_of(line: str, place: str) -> tuple[str, str]:
    """Return name and value of a line; raises SettingsError, which does not repeat a secret."""
    name, found, value = line.partition("=")
    if not found or not name.strip():
        raise SettingsError(f"{place} sets nothing; write name=value")
    return name.strip(), value.strip()
