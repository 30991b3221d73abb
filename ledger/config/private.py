"""Files for their owner only: the files of a ledger hold all its data.

A process of the command line makes every file that way, and so do the processes that it starts,
whatever library writes the file. Other programs call `make_private` for the folders of a ledger.
"""

import os
import stat
from pathlib import Path
from typing import Final

FOLDER: Final = 0o700
FILE: Final = 0o600
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def make_all_private() -> None:
    """Let this process, and the ones it starts, make files and folders for their owner only."""
    os.umask(os.umask(OTHERS) | OTHERS)


def make_private(folder: Path) -> None:
    """Make a folder and its parents for their owner only, if they do not exist."""
    folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)


def close_to_others(folder: Path) -> None:
    """Take away the rights of other users that an older version gave."""
    if stat.S_IMODE(folder.stat().st_mode) & OTHERS:
        folder.chmod(FOLDER)


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE)
    with os.fdopen(opened, "w", encoding="utf-8") as out:
        out.write(text)


def is_read_by_others(file: Path) -> bool:
    """Tell whether users besides the owner may read a file."""
    return bool(file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
