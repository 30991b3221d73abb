"""Each mutant of rows in the log is told by its law, and honest code is not."""

from pathlib import Path

import pytest

from tests.tables.laws.block_mutants import MUTANTS, BlockMutant, Play, hunt, ingests, trims
from tests.tables.laws.test_flushed import play

pytestmark = pytest.mark.slow

NAMES = [mutant.name for mutant in MUTANTS]


@pytest.mark.parametrize("mutant", MUTANTS, ids=NAMES)
def test_a_mutant_is_told(tmp_path: Path, mutant: BlockMutant) -> None:
    assert hunt(mutant, tmp_path) is not None


@pytest.mark.parametrize("law", [play, trims, ingests])
def test_honest_code_is_not_told(tmp_path: Path, law: Play) -> None:
    assert hunt(BlockMutant("honest", (), law), tmp_path) is None
