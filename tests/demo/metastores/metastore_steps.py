"""The steps of two metastores, M1 and M2: the entries, and the answers to readers.

Lists are written as on Hive's design page of a synchronized metastore cache, `hwm:exceptions`. Its
steps are 1 to 7, with its numbers: [13:7,8,12] becomes [14:7,8,12]. The page does not cover aborts;
steps 8 to 11 follow from its other rules.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ledger.core.lists.valid_lists import ValidWriteIdList
from tests.demo.metastores.metastore import Mode


class StepLine(NamedTuple):
    """One moment: the entries of M1 and M2, and the answer to a reader.

    An entry is its list, with `*` if it is uncommitted; `-` means no entry. An answer is the state
    of the table, its source, and the reason.
    """

    step: str
    what: str
    first: str
    second: str
    answer: str = ""


def lines_of(text: str) -> Sequence[StepLine]:
    """Return the lines of a text, which has `|` between the fields."""
    rows = ([field.strip() for field in row.split("|")] for row in text.strip().splitlines())
    return [StepLine(*row) for row in rows]


def short(ids: ValidWriteIdList) -> str:
    """Return a list as the page writes it; the exceptions are open or aborted."""
    return f"{ids.hwm}:{','.join(map(str, ids.exceptions()))}"


def differences(found: Sequence[StepLine], wanted: Sequence[StepLine]) -> list[str]:
    pairs = zip(found, wanted, strict=True)
    return [f"{one} instead of {other}" for one, other in pairs if one != other]


ONE_VERSION: Final = """
1  | reader of 13:7,8,12 at M1    | 13:7,8,12   | 13:7,8,12    | v0 cache hit
1  | reader of 13:7,8,12 at M2    | 13:7,8,12   | 13:7,8,12    | v0 cache hit
2  | M1 alters                    | 14:7,8,12 * | 13:7,8,12    |
2  | reader of 14:7,8,12,14 at M1 | 14:7,8,12 * | 13:7,8,12    | v0 store pending
2  | reader of 14:7,8,12,14 at M2 | 14:7,8,12 * | 13:7,8,12    | v0 cache hit
2  | M1 commits                   | 14:7,8,12   | 13:7,8,12    |
2  | reader of 14:7,8,12 at M1    | 14:7,8,12   | 13:7,8,12    | v14 cache hit
3  | reader of 14:7,8,12 at M2    | 14:7,8,12   | 13:7,8,12    | v14 store ahead_of_cache
4  | M2 reads of the alter        | 14:7,8,12   | 14:7,8,12 *  |
5  | reader of 14:7,8,12 at M2    | 14:7,8,12   | 14:7,8,12 *  | v14 store pending
5  | reader of 13:7,8,12 at M2    | 14:7,8,12   | 14:7,8,12 *  | v0 store pending
6  | M2 reads of the commit       | 14:7,8,12   | 14:7,8,12    |
7  | reader of 14:7,8,12 at M2    | 14:7,8,12   | 14:7,8,12    | v14 cache hit
7  | reader of 13:7,8,12 at M2    | 14:7,8,12   | 14:7,8,12    | v0 store before_floor
8  | M1 alters, M2 reads of it    | 15:7,8,12 * | 15:7,8,12 *  |
8  | reader of 15:7,8,12,15 at M2 | 15:7,8,12 * | 15:7,8,12 *  | v14 store pending
9  | M1 aborts, M2 reads of it    | -           | -            |
10 | reader of 15:7,8,12,15 at M2 | -           | 15:7,8,12,15 | v14 store absent
10 | reader of 15:7,8,12,15 at M2 | -           | 15:7,8,12,15 | v14 cache hit
11 | M1 reads of it all           | -           | 15:7,8,12,15 |
"""

MANY_VERSIONS: Final = """
1  | reader of 13:7,8,12 at M1    | 13:7,8,12      | 13:7,8,12      | v0 cache hit
1  | reader of 13:7,8,12 at M2    | 13:7,8,12      | 13:7,8,12      | v0 cache hit
2  | M1 alters                    | 14:7,8,12,14 * | 13:7,8,12      |
2  | reader of 14:7,8,12,14 at M1 | 14:7,8,12,14 * | 13:7,8,12      | v0 cache hit
2  | reader of 14:7,8,12,14 at M2 | 14:7,8,12,14 * | 13:7,8,12      | v0 cache hit
2  | M1 commits                   | 14:7,8,12      | 13:7,8,12      |
2  | reader of 14:7,8,12 at M1    | 14:7,8,12      | 13:7,8,12      | v14 cache hit
3  | reader of 14:7,8,12 at M2    | 14:7,8,12      | 13:7,8,12      | v14 store ahead_of_cache
4  | M2 reads of the alter        | 14:7,8,12      | 14:7,8,12,14 * |
5  | reader of 14:7,8,12 at M2    | 14:7,8,12      | 14:7,8,12,14 * | v14 cache hit
5  | reader of 13:7,8,12 at M2    | 14:7,8,12      | 14:7,8,12,14 * | v0 cache hit
6  | M2 reads of the commit       | 14:7,8,12      | 14:7,8,12      |
7  | reader of 14:7,8,12 at M2    | 14:7,8,12      | 14:7,8,12      | v14 cache hit
7  | reader of 13:7,8,12 at M2    | 14:7,8,12      | 14:7,8,12      | v0 cache hit_old_version
8  | M1 alters, M2 reads of it    | 15:7,8,12,15 * | 15:7,8,12,15 * |
8  | reader of 15:7,8,12,15 at M2 | 15:7,8,12,15 * | 15:7,8,12,15 * | v14 cache hit
9  | M1 aborts, M2 reads of it    | 15:7,8,12,15   | 15:7,8,12,15   |
10 | reader of 15:7,8,12,15 at M2 | 15:7,8,12,15   | 15:7,8,12,15   | v14 cache hit
10 | reader of 15:7,8,12,15 at M2 | 15:7,8,12,15   | 15:7,8,12,15   | v14 cache hit
11 | M1 reads of it all           | 15:7,8,12,15   | 15:7,8,12,15   |
"""

WANTED: Final[Mapping[Mode, Sequence[StepLine]]] = {
    "one version": lines_of(ONE_VERSION),
    "many versions": lines_of(MANY_VERSIONS),
}
