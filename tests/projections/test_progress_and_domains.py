"""Progress of applications and metadata domains, as commits and their chunks leave them."""

from ledger.core.commands import AppVersion, Domain, Footprint, StageWrites, TableWrite
from ledger.reads.port import AppRow
from tests.core.parts import after, footprint
from tests.projections.filing import commit
from tests.projections.followed import Followed


def of_loader(version: int, *, app: str = "loader") -> Footprint:
    return footprint(apps=[AppVersion(app, version)])


def test_an_application_is_as_far_as_its_last_commit_said(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    commit(domain, session, table, ["a"], said=of_loader(3))
    commit(domain, session, table, ["b"], said=of_loader(5))
    commit(domain, session, table, ["c"], said=of_loader(1, app="a\0b"))
    again = commit(domain, session, table, ["d"], said=of_loader(4))
    reads = domain.reads

    assert getattr(again.body, "reason", "") == "already_applied"
    assert reads.apps(table) == [AppRow(table, "a\0b", 1, 8), AppRow(table, "loader", 5, 7)]
    assert reads.app(table, "loader") == AppRow(table, "loader", 5, 7)
    assert reads.app(table, "loade") is reads.app(2, "loader") is reads.app(-1, "loader") is None
    assert reads.app(table, "loader\udcff") is None


def metadata(*domains: Domain) -> Footprint:
    return footprint(domains=list(domains))


def test_of_each_domain_the_last_configuration_counts(domain: Followed) -> None:
    session = domain.open_session()
    table = domain.create_table(session, "flights")
    first = metadata(Domain("x", "1", removed=False), Domain("a", "2", removed=False))
    second = metadata(Domain("x", "", removed=True), Domain("a", "3", removed=False))
    commit(domain, session, table, ["a"], said=first)
    before = domain.reads.domains(table)
    commit(domain, session, table, ["b"], said=second)

    assert before == [Domain("a", "2", removed=False), Domain("x", "1", removed=False)]
    assert domain.reads.domains(table) == [Domain("a", "3", removed=False)]


def test_progress_and_domains_of_chunks_are_there_with_their_commit(domain: Followed) -> None:
    session = domain.open_session()
    table, txn = domain.create_table(session, "flights"), domain.open_txn(session)
    chunks = [
        metadata(Domain("a", "1", removed=False))._replace(apps=[AppVersion("x", 1)]),
        metadata(Domain("a", "2", removed=False), Domain("b", "", removed=False)),
    ]
    for number, chunk in enumerate(chunks, start=1):
        domain.ask(StageWrites(*domain.asks(session), txn, table, number, chunk))
    domain.commit(session, txn, TableWrite(table, 0, [], after(chunks, of_loader(2, app="y"))))
    reads = domain.reads

    assert [(app.app, app.version) for app in reads.apps(table)] == [("x", 1), ("y", 2)]
    assert reads.domains(table) == [
        Domain("a", "12", removed=False),
        Domain("b", "", removed=False),
    ]
