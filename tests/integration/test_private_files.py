"""What a ledger keeps on this machine is for its owner only, whoever writes it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ledger.client import Ledger
from ledger.config.address import Address
from tests.integration.commands import up

pytestmark = pytest.mark.kafka

GENEROUS: Final = 0o000


@pytest.fixture
def _generous() -> Iterator[None]:
    """Let this process, and what it starts, make files for everybody."""
    before = os.umask(GENEROUS)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Return what others may read, write or enter below a folder, and the folder itself."""
    found = [folder, *folder.rglob("*")]
    return [
        f"{path.relative_to(folder)} {stat.filemode(path.stat().st_mode)}"
        for path in found
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]


@pytest.mark.usefixtures("_generous")
@pytest.mark.parametrize("is_old", [False, True], ids=["new", "of an older version"])
def test_up(tmp_path: Path, *, is_old: bool) -> None:
    """Broker, rows, address and logs of `up` are closed to others, however generous its shell."""
    home = tmp_path / "home"
    if is_old:
        (home / "lake").mkdir(parents=True)
    with up(home):
        address = Address.read(home / "lake")
        assert address is not None
        with Ledger.connect(address.bootstrap, address.ledger) as ledger:
            ledger.begin().commit()
        assert open_to_others(home / "lake") == []
        assert {path.name for path in (home / "lake").iterdir()} >= {"address.json", "store"}
