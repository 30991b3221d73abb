"""Compiled predicates: those of the scans asked last, kept for the next that say the same."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from ledger.core.partition_keys import PartitionSchema
from ledger.core.predicates import CompiledPredicate, compile_predicate

COMPILED_MAX: Final = 4_096
# Compiled, a text takes up to forty times its length.
COMPILED_CHARS_MAX: Final = 4 * 1024 * 1024
# A comparison takes microseconds. A part whose scans would take more of them, over all new
# partitions, would hold up all others: they count as reading everything.
ASKED_MAX: Final = 100_000


@dataclass(slots=True)
class Predicates:
    """Compiled predicates, the last used ones kept.

    The scans of one part take at most `asked_max` steps over new partitions. `chars` is the length
    of all that is kept.
    """

    compiled: OrderedDict[tuple[str, PartitionSchema, bool], CompiledPredicate] = field(
        default_factory=OrderedDict
    )
    asked_max: int = ASKED_MAX
    chars: int = 0

    def of(self, text: str, schema: PartitionSchema, *, derive: bool) -> CompiledPredicate:
        """Return a predicate ready to be asked."""
        key = text, schema, derive
        found = self.compiled.get(key)
        if found is None:
            found = self.compiled[key] = compile_predicate(text, schema, derive=derive)
            self.chars += len(text)
            while len(self.compiled) > COMPILED_MAX or self.chars > COMPILED_CHARS_MAX:
                oldest, _ = self.compiled.popitem(last=False)
                self.chars -= len(oldest[0])
        else:
            self.compiled.move_to_end(key)
        return found
