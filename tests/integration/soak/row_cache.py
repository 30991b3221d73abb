"""A cache over rows as a process: it answers over HTTP what `lakeledger serve cache` answers.

That one follows the log; a job that reads the rows of its host has a cache like this one inside.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from typing import NoReturn

import structlog

from ledger.config.settings import CacheSettings
from ledger.machine.process import role_process, set_up_logging
from ledger.reads.port import Reads
from projections.cache.lists import ReadLists
from projections.cache.process import CacheProcess
from projections.cache.reads import MetadataCache
from projections.cache.store import Reopened
from projections.queries import open_reads
from projections.web.roles.cache import CACHE_QUESTIONS, measures
from projections.web.roles.role import Role

THREADS = 8

log_lines = structlog.get_logger("lakeledger.soak")


def keep(rows: Path, http: str, sample_every_s: float, bytes_max: int, stop: Signal) -> None:
    """Keep a cache over rows and answer from it until `stop` is set."""
    with (
        closing(MetadataCache.open(rows, "main", bytes_max=bytes_max)) as cache,
        closing(Reopened[Reads](lambda: open_reads(rows))) as reads,
    ):
        process = CacheProcess(cache, ReadLists(reads))
        # No checks: this cache is judged by its answers.
        role = Role(
            "cache",
            lambda: process,
            {},
            lambda: None,
            lambda lag: measures(cache, lag),
            CACHE_QUESTIONS,
            THREADS,
        )
        with closing(role.serve(CacheSettings(http=http))) as server:
            log_lines.info("answering HTTP", url=server.url)
            cache.sampler.watch(stop, sample_every_s)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Keep a cache until the parent is gone or says so; ends as a role does."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.soak.row_cache")
    parser.add_argument("--store", type=Path, required=True, help="the rows")
    parser.add_argument("--http", required=True, help="host:port to answer at")
    parser.add_argument("--sample-every-s", type=float, default=0.5)
    parser.add_argument("--bytes-max", type=int, default=256 << 20)
    options = parser.parse_args(arguments)
    set_up_logging()

    def run(stop: Signal) -> None:
        place = options.store, options.http
        keep(*place, options.sample_every_s, options.bytes_max, stop)

    sys.exit(role_process("row cache", run, with_parent=True))


if __name__ == "__main__":
    main()
