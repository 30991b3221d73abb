"""Rows of a host at which commands look: a domain with everything in it, and its command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

from ledger.config.address import Address
from ledger.machine.process import ExitCode
from projections.store.rocks_store import RocksStore
from tests.command_line import invoked
from tests.core.parts import footprint, table_of
from tests.projections.filing import commit, writing
from tests.projections.followed import Followed

BY_HOUR = table_of(("hour", "string"), by=["hour"])
Lakeledger = Callable[..., Result]


def played() -> Followed:
    """Return a domain with files, versions, conflicts, an anomaly and a dropped table."""
    domain = Followed()
    session = domain.open_session()
    table = domain.create_table(session, "flights", made=BY_HOUR)
    commit(domain, session, table, ["a", "b"])
    txn = domain.open_txn(session)
    stale = writing(domain, table, [], ["a"])
    commit(domain, session, table, [], ["a"], said=footprint("DELETE"))
    domain.commit(session, txn, stale)
    domain.commit(session, 0, stale)
    commit(domain, session, table, [], ["ghost"])
    domain.drop_table(session, domain.create_table(session, "planes"))
    return domain


def command_line(domain: Followed, folder: Path) -> Lakeledger:
    """Return a way to run the command line where the rows of a domain are kept."""
    home, store = folder / "home", folder / "store"
    (home / "lake").mkdir(parents=True)
    Address("127.0.0.1:1", "demo", store).write(home / "lake")
    with RocksStore.open(store) as rows:
        followed = Followed(rows)
        followed.fold.feed(domain.records)

    def run(*arguments: str, **environ: str) -> Result:
        return invoked(*arguments, LAKELEDGER_HOME=str(home), COLUMNS="200", **environ)

    return run


def told(result: Result) -> Any:
    """Return what a command answered to a program."""
    assert result.exit_code == ExitCode.DONE, result.output
    return json.loads(result.stdout)
