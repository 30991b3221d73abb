"""The page about the processes: this follower, and the others whose URLs it was given."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple

from ledger.errors import LedgerError
from ledger.reads.remote.http_questions import HttpQuestions
from projections.web.pages.page import Fields, PageView
from projections.web.roles.health import Check

PROCESSES_MAX: Final = 16
TIMEOUT_S: Final = 1.5


class ProcessLook(NamedTuple):
    """A process as it answered just now: its checks, or the problem of asking it.

    `role` is "" if the process does not say it.
    """

    url: str
    checks: Mapping[str, Check]
    problem: str = ""
    role: str = ""


async def look_at(urls: Sequence[str]) -> Sequence[ProcessLook]:
    """Return how the first processes are; all are asked at once, each for a short while."""
    asked = (asyncio.to_thread(look, url) for url in urls[:PROCESSES_MAX])
    return await asyncio.gather(*asked)


def look(url: str) -> ProcessLook:
    """Ask a process for its checks."""
    try:
        with closing(HttpQuestions(url, timeout_s=TIMEOUT_S)) as far:
            form = far.readiness()
            return ProcessLook(url, checks_in(form), role=str(form.get("role", "")))
    except (LedgerError, ValueError) as problem:
        return ProcessLook(url, {}, str(problem))


def checks_in(form: Mapping[str, Any]) -> Mapping[str, Check]:
    """Return the checks in an answer of `/readyz`; raises ValueError for any other answer."""
    found = form.get("checks")
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ValueError("its answer has no checks: it is no process of a ledger")
    return {
        name: Check(each.get("status") == "UP", str(each.get("detail", "")))
        for name, each in found.items()
    }


def processes(view: PageView) -> Fields:
    """Gather the health of this follower, and of the other processes."""
    return {"identity": view.reads.identity(), "others": view.beside.others}
