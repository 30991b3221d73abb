"""Answers about namespaces: facts of the ledger, and the names above tables."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from ledger.core.commands import Property
from ledger.errors import MetadataChangedException
from projections.iceberg.commits.given_json import names_in, texts_in
from projections.iceberg.errors import already_there, not_empty
from projections.iceberg.names import Parts, namespace_name, parts_of
from projections.web.iceberg.bodies import parts_in
from projections.web.iceberg.visits import DONE, Reply, Visit, unprocessable

Item = TypeVar("Item")
ATTEMPTS: Final = 5
REMOVALS_MAX: Final = 10_000
BODY: Final = "the body"


def list_namespaces(visit: Visit) -> Reply:
    """Return the namespaces directly in another one, or the outermost ones."""
    parent = visit.query.get("parent")
    found = visit.seen.namespaces(parts_of(parent) if parent else ())
    page, more = page_of(visit, found, lambda parts: parts[-1])
    return Reply(form={"namespaces": [list(parts) for parts in page], **more})


def create_namespace(visit: Visit) -> Reply:
    """Create a namespace with its properties."""
    parts, properties = parts_in(visit.form, BODY), texts_in(visit.form, "properties", BODY)
    name = namespace_name(parts)
    if visit.seen.has_namespace(parts):
        raise already_there("Namespace", name)
    with visit.client() as ledger:
        ledger.create_namespace(name, properties=properties)
    return Reply(form={"namespace": list(parts), "properties": dict(properties)})


def load_namespace(visit: Visit) -> Reply:
    """Return a namespace with its properties."""
    row = visit.seen.namespace(visit.namespace)
    form = {"namespace": list(visit.namespace), "properties": texts_of(row.properties)}
    return Reply(form=form)


def has_namespace(visit: Visit) -> Reply:
    """Tell whether a namespace is there."""
    visit.seen.namespace(visit.namespace)
    return DONE


def drop_namespace(visit: Visit) -> Reply:
    """Drop an empty one: without tables, views or namespaces in it."""
    row, name = visit.seen.namespace(visit.namespace), ".".join(visit.namespace)
    if not visit.seen.is_empty(visit.namespace):
        raise not_empty(name)
    with visit.client() as ledger:
        ledger.drop_namespace(row.name)
    return DONE


def alter_namespace(visit: Visit) -> Reply:
    """Set and remove properties of a namespace; one of tables alone is created with them."""
    updates = texts_in(visit.form, "updates", BODY)
    removals = names_in(visit.form, "removals", BODY, REMOVALS_MAX)
    if both := sorted(updates.keys() & set(removals)):
        raise unprocessable(f"a property must be updated or removed, got {', '.join(both)} twice")
    for attempt in range(1, ATTEMPTS + 1):
        row = visit.lake.seen(visit.position).namespace(visit.namespace)
        before = texts_of(row.properties)
        gone = [key for key in dict.fromkeys(removals) if key in before]
        try:
            with visit.client() as ledger:
                if row.changed:
                    ledger.alter_namespace(row.name, properties=updates, unset=gone)
                elif updates:
                    ledger.create_namespace(row.name, properties=updates)
        except MetadataChangedException:
            if attempt == ATTEMPTS:
                raise
        else:
            break
    missing = [key for key in dict.fromkeys(removals) if key not in gone]
    return Reply(form={"updated": list(updates), "removed": gone, "missing": missing})


def texts_of(properties: Sequence[Property]) -> dict[str, str]:
    """Return properties by their names."""
    return {each.key: each.value for each in properties}


def page_of(
    visit: Visit, found: Sequence[Item], name_of: Callable[[Item], str]
) -> tuple[Sequence[Item], dict[str, str]]:
    """Return a page of a list that is in the order of names, and where the next one begins.

    A client that sends no token gets all. `pageToken` is the name that the page before ended with,
    "" for the first page.
    """
    after, most = visit.query.get("pageToken"), visit.number_in("pageSize")
    if after is None or (most is None and not after):
        return found, {}
    left = [each for each in found if not after or name_of(each) > after]
    if most is None or len(left) <= most:
        return left, {}
    return left[:most], {"next-page-token": name_of(left[most - 1])}


def check_outer(visit: Visit, parts: Parts) -> None:
    """Raise IcebergRefusal if a table cannot be put into a namespace."""
    namespace_name(parts)
    if not visit.seen.has_namespace(parts):
        visit.seen.namespace(parts)
