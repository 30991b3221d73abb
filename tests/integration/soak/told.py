"""What came of a soak, as it is told on a terminal."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.integration.soak.questions import Questions, sources
from tests.integration.soak.run import Report

WRONG_SHOWN: Final = 30


def show(report: Report) -> None:
    """Print what happened, what was asked, who was killed, who holds what, and what is wrong."""
    out = Console(width=150, highlight=False)
    kinds = ", ".join(f"{name} {number}" for name, number in sorted(report.kinds.items()))
    out.print(f"{report.events} events in {report.seconds:.0f} s: {kinds}")
    for table in (asked(report.questions), killed(report), held(report)):
        out.print(table)
    reasons = sum(
        (Counter(sources(question.asked)) for question in report.questions), Counter[str]()
    )
    out.print("answers: " + ", ".join(f"{name} {number}" for name, number in reasons.most_common()))
    for line in report.wrong[:WRONG_SHOWN]:
        out.print(f"WRONG {escape(line)}", soft_wrap=True)
    out.print(f"{len(report.wrong)} wrong" if report.wrong else "all is as it should be")


def table_of(title: str, *columns: str) -> Table:
    """Return an empty table whose first column holds names."""
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    return table


def asked(questions: Sequence[Questions]) -> Table:
    """Return what the caches were asked, and how they are by their own account."""
    names = ("cache", "reads", "hits", "away", "behind", "waits", "in vain", "fills")
    table = table_of("asked", *names, "evictions", "cut", "compared", "mismatches", "lives")
    for question in questions:
        lives = question.lives()
        hits = sum(one.answer.source == "cache" for one in question.asked)
        sums = (
            sum(status.waits for status in lives),
            sum(status.timeouts for status in lives),
            sum(status.fills_kept for status in lives),
            sum(status.evictions for status in lives),
            sum(status.cut for status in lives),
            sum(status.compared for status in lives),
            sum(status.mismatches for status in lives),
            len(lives),
        )
        ratio = f"{hits / max(1, len(question.asked)):.1%}"
        table.add_row(
            question.name,
            str(len(question.asked)),
            ratio,
            *map(str, (question.away, question.behind, *sums)),
        )
    return table


def killed(report: Report) -> Table:
    """Return who was killed, how often, and when it worked again."""
    table = table_of("killed", "process", "times", "back after, median s", "max")
    for name, took_s in sorted(report.back_s.items()):
        table.add_row(name, str(len(took_s)), f"{median(took_s):.1f}", f"{max(took_s):.1f}")
    return table


def held(report: Report) -> Table:
    """Return what everybody holds at the end."""
    names = list(report.holdings[0].digests)
    table = table_of("held at the end", "place", *names, "from entries", "wrong")
    for holding in report.holdings:
        digests = (holding.digests.get(name, "") for name in names)
        hits = ", ".join(f"{name} {ratio:.0%}" for name, ratio in holding.hits.items())
        table.add_row(holding.name, *digests, hits, str(len(holding.wrong)))
    return table
