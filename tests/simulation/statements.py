"""Statements: inserts, updates, deletes, merges and rewrites over a table with marks.

Each takes few or many rows, and says what it does row by row, or file by file as programs do that
know nothing of marks.
"""

from collections.abc import Sequence
from itertools import accumulate
from random import Random
from typing import Final

from tests.simulation.lake import KEYS, PARTITIONS, Condition, Lake
from tests.simulation.planning import (
    ROWS_MAX,
    Draw,
    Planned,
    SeenFile,
    Statement,
    View,
    draw_condition,
)


def plan(lake: Lake, chance: Random, view: View) -> Planned | None:
    """Return a statement over a view, None if the one drawn would write nothing."""
    statement = Statement(lake, chance, view)
    if len(view.files) < 2:
        append(statement)
    else:
        chance.choices(DRAWN, cum_weights=CUMULATED)[0](statement)
    return statement.planned()


def append(statement: Statement) -> None:
    """Add rows and read nothing."""
    chance = statement.chance
    for _ in range(chance.randint(1, 2)):
        partition = chance.choice(PARTITIONS)
        for _ in range(chance.randint(2, ROWS_MAX)):
            statement.insert(partition, chance.choice(KEYS))
    statement.is_by_row = chance.random() < 0.8


def append_read(statement: Statement) -> None:
    """Add rows that depend on others."""
    statement.scan(draw_condition(statement.chance), by_row=False)
    statement.insert(statement.chance.choice(PARTITIONS), statement.chance.choice(KEYS))


def update(statement: Statement) -> None:
    statement.operation = "UPDATE"
    condition = draw_condition(statement.chance)
    for file in statement.scan(condition, by_row=True):
        change(statement, file, statement.hits(file, condition))
        again(statement, [file.data.rows[at] for at in statement.marks.get(file.data.path, ())])


def delete(statement: Statement) -> None:
    statement.operation = "DELETE"
    condition = draw_condition(statement.chance)
    for file in statement.scan(condition, by_row=True):
        change(statement, file, statement.hits(file, condition))


def merge(statement: Statement) -> None:
    """Change some of the rows that match, leave the others, and add keys that match none."""
    chance = statement.chance
    statement.operation = "MERGE"
    condition = draw_condition(chance)
    absent = set(condition.keys)
    for file in statement.scan(condition, by_row=True):
        hits = statement.hits(file, condition)
        absent -= {statement.lake.keys[file.data.rows[at]] for at in hits}
        left = [at for at in hits if chance.random() < 0.5]
        if left:
            statement.read[file.data.path] = left
        change(statement, file, [at for at in hits if at not in left])
        again(statement, [file.data.rows[at] for at in statement.marks.get(file.data.path, ())])
    for key in sorted(absent):
        statement.insert(condition.partition or chance.choice(PARTITIONS), key)


def change(statement: Statement, file: SeenFile, hits: Sequence[int]) -> None:
    """Take rows out of a file: mark them, or let the file give way to copies of the others."""
    if not hits:
        return
    chance, path = statement.chance, file.data.path
    statement.marks[path] = hits
    left = [at for at in file.live if at not in hits]
    if not left and chance.random() < 0.7:
        statement.removed.append(file)
    elif left and chance.random() < 0.4:
        statement.removed.append(file)
        copy(statement, file, left)


def copy(statement: Statement, file: SeenFile, numbers: Sequence[int]) -> None:
    """Copy rows of a file into one file, or into two."""
    partition = file.data.partition
    if len(numbers) > 1 and statement.chance.random() < 0.2:
        middle = len(numbers) // 2
        statement.copy(file, numbers[:middle], statement.file_of(partition))
        statement.copy(file, numbers[middle:], statement.file(partition))
        return
    statement.copy(file, numbers, statement.file_of(partition))


def again(statement: Statement, rows: Sequence[int]) -> None:
    """Write the changed rows, now and then with another key."""
    lake, chance = statement.lake, statement.chance
    for row in rows:
        key = chance.choice(KEYS) if chance.random() < 0.2 else lake.keys[row]
        statement.insert(lake.partitions[row], key)


def optimize(statement: Statement) -> None:
    """Put the rows of some files into other ones."""
    chance = statement.chance
    statement.operation, statement.data_change = "OPTIMIZE", False
    chosen = chance.sample(statement.view.files, min(chance.randint(1, 5), count(statement)))
    statement.scanned.extend(each.data.path for each in statement.view.files)
    for file in chosen:
        statement.removed.append(file)
        copy(statement, file, file.live)


def optimize_files(statement: Statement) -> None:
    """Rewrite files as a program does that knows nothing of marks."""
    chance = statement.chance
    statement.operation, statement.data_change, statement.is_by_row = "OPTIMIZE", False, False
    for file in chance.sample(statement.view.files, min(2, count(statement))):
        statement.read_files.append(file.data.path)
        rewrite(statement, file, file.live)


def delete_files(statement: Statement) -> None:
    """Delete rows as a program does that knows nothing of marks."""
    statement.operation, statement.is_by_row = "DELETE", False
    condition = draw_condition(statement.chance)
    for file in statement.scan(condition, by_row=False):
        hits = statement.hits(file, condition)
        if hits:
            rewrite(statement, file, [at for at in file.live if at not in hits])


def drop_partition(statement: Statement) -> None:
    """Remove all files of a partition."""
    statement.operation, statement.is_by_row = "DELETE", False
    condition = Condition(statement.chance.choice(PARTITIONS), frozenset())
    statement.removed.extend(statement.scan(condition, by_row=False))
    if statement.chance.random() < 0.5:
        # What removes whole partitions need not name the files as read.
        statement.read_files.clear()


def rewrite(statement: Statement, file: SeenFile, numbers: Sequence[int]) -> None:
    """Let a file give way to copies, without a word on where they are."""
    statement.removed.append(file)
    if numbers:
        target = statement.file_of(file.data.partition)
        target.rows += [file.data.rows[at] for at in numbers]


def count(statement: Statement) -> int:
    return len(statement.view.files)


KINDS: Final[dict[Draw, int]] = {
    append: 12,
    append_read: 4,
    update: 24,
    delete: 12,
    merge: 16,
    optimize: 22,
    optimize_files: 2,
    delete_files: 3,
    drop_partition: 2,
}
DRAWN: Final = tuple(KINDS)
CUMULATED: Final = tuple(accumulate(KINDS.values()))
