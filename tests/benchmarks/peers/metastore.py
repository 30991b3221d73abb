"""A metastore's transactions as SQL on PostgreSQL: open, snapshot, allocate, commit.

The tables and statements are those that Hive's metastore keeps its transactions with, reduced to
what a transaction cannot do without: no locks, no notifications, no object mapping, no Thrift. So
it is quicker than a metastore is. Each of the three steps is a database transaction, its statements
come from the client, and counters are taken under a row lock.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from tests.benchmarks.peers import crew

TABLES: Final = 50
PARTITIONS: Final = 100_000
Connection = Any

SCHEMA: Final = """
drop schema if exists meta cascade;
create schema meta;
set search_path = meta;
create table next_txn (id bigint not null);
create table next_commit (id bigint not null);
create table txns (
  txn bigint primary key, state char(1) not null, started bigint, heartbeat bigint,
  owner text, host text);
create index txns_by_state on txns (state, txn);
create table min_history (txn bigint primary key, min_open bigint not null);
create index min_history_by_open on min_history (min_open);
create table next_write_id (name text primary key, id bigint not null);
create table txn_to_write_id (
  txn bigint, name text, write_id bigint, unique (name, txn));
create index write_ids on txn_to_write_id (name, write_id);
create table components (txn bigint, name text, part text, operation char(1), write_id bigint);
create index components_by_txn on components (txn);
create table completed (
  txn bigint, name text, part text, write_id bigint, ended timestamptz default now());
create index completed_by_part on completed (name, part);
create table write_set (
  name text, part text, txn bigint, commit_id bigint, operation char(1));
create index write_set_by_part on write_set (name, part, commit_id);
insert into next_txn values (1);
insert into next_commit values (1);
"""


def address(job: crew.Job) -> str:
    """Return where the database is."""
    return f"host=127.0.0.1 port={job['port']} user={job['user']} dbname=postgres"


def create(job: crew.Job) -> None:
    """Make the tables new."""
    with psycopg.connect(address(job)) as connection:
        connection.execute(SCHEMA)
        connection.execute(
            "insert into next_write_id select 't' || n, 1 from generate_series(0, %s) n",
            (TABLES - 1,),
        )


@contextmanager
def session(job: crew.Job) -> Iterator[crew.Call]:
    """Yield a call that does one transaction over a connection of its own."""
    options = "-c search_path=meta"
    with psycopg.connect(address(job), options=options, prepare_threshold=2) as connection:
        draw = random.Random()  # noqa: S311 - which partition is written decides no secret

        def call(_: int) -> None:
            where = f"t{draw.randrange(TABLES)}", f"p{draw.randrange(PARTITIONS)}"
            txn = open_txn(connection)
            connection.execute(
                "select txn, state from txns where state <> 'c' order by txn"
            ).fetchall()
            connection.commit()
            allocate(connection, txn, *where)
            commit(connection, txn)

        yield call


def open_txn(connection: Connection) -> int:
    """Open a transaction and return its id."""
    txn = taken(connection, "next_txn")
    connection.execute("insert into txns values (%s, 'o', 1, 1, 'ada', 'host')", (txn,))
    connection.execute(
        "insert into min_history select %s, coalesce(min(txn), %s) from txns where state = 'o'",
        (txn, txn),
    )
    connection.commit()
    return txn


def taken(connection: Connection, counter: str) -> int:
    """Take the next number of a counter."""
    (number,) = connection.execute(f"select id from {counter} for update").fetchone()  # noqa: S608
    connection.execute(f"update {counter} set id = %s", (number + 1,))  # noqa: S608
    return int(number)


def allocate(connection: Connection, txn: int, name: str, part: str) -> None:
    """Give a transaction its write id in a table, and note what it is going to write."""
    connection.execute(
        "select write_id from txn_to_write_id where name = %s and txn = %s", (name, txn)
    ).fetchone()
    (write_id,) = connection.execute(
        "select id from next_write_id where name = %s for update", (name,)
    ).fetchone()
    connection.execute("update next_write_id set id = %s where name = %s", (write_id + 1, name))
    connection.execute("insert into txn_to_write_id values (%s, %s, %s)", (txn, name, write_id))
    connection.execute(
        "insert into components values (%s, %s, %s, 'u', %s)", (txn, name, part, write_id)
    )
    connection.commit()


def commit(connection: Connection, txn: int) -> None:
    """Commit unless another transaction changed the same partition since; then abort."""
    connection.execute("select state from txns where txn = %s for update", (txn,)).fetchone()
    number = taken(connection, "next_commit")
    lost = connection.execute(
        "select 1 from components mine join write_set other using (name, part) where "
        "mine.txn = %s and other.txn <> %s and other.commit_id >= %s limit 1",
        (txn, txn, txn),
    ).fetchone()
    if not lost:
        connection.execute(
            "insert into write_set select name, part, txn, %s, operation from components "
            "where txn = %s",
            (number, txn),
        )
        connection.execute(
            "insert into completed select txn, name, part, write_id from components where txn = %s",
            (txn,),
        )
    connection.execute("delete from components where txn = %s", (txn,))
    connection.execute("delete from min_history where txn = %s", (txn,))
    connection.execute("update txns set state = %s where txn = %s", ("a" if lost else "c", txn))
    connection.commit()


if __name__ == "__main__":
    crew.main(session, create=create)
