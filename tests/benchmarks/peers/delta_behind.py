"""deltalake: one commit through a handle that many commits have overtaken."""

import time

from deltalake import DeltaTable

from tests.benchmarks.peers import crew, delta


def main() -> None:
    """Tell the milliseconds of one commit that is `behind` others, in a table of `files`."""
    job = crew.read_job()
    delta.create(job)
    delta.commit(DeltaTable(job["path"]), job["files"])
    stale, table = DeltaTable(job["path"]), DeltaTable(job["path"])
    for _ in range(job["behind"]):
        delta.commit(table)
        table.update_incremental()
    began_s = time.perf_counter()
    delta.commit(stale)
    crew.tell((time.perf_counter() - began_s) * 1000)


if __name__ == "__main__":
    main()
