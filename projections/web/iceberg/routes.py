"""Routes: every path of the catalog, its methods, and the function that answers.

The list that clients get of what the server has is made from this table, and so is its document.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from projections.web.iceberg import forms, namespaces, tables
from projections.web.iceberg.lake import warehouse_of
from projections.web.iceberg.visits import NO_CONTENT, OK, Reply, Visit

GET: Final = "GET"
HEAD: Final = "HEAD"
POST: Final = "POST"
DELETE: Final = "DELETE"
PREFIX: Final = "/v1/{prefix}"
NAMESPACE: Final = f"{PREFIX}/namespaces/{{namespace}}"
TABLES: Final = f"{NAMESPACE}/tables"
TABLE: Final = f"{TABLES}/{{table}}"
PAGING: Final = ("pageToken", "pageSize")
REGISTER: Final = "register_table"
"""The route that is offered where a place of tables to register is permitted."""
LIFETIME: Final = "PT30M"
"""How long the answer to a request with a key is kept."""


class IcebergRoute(NamedTuple):
    """A method of a path: the function that answers, and what its document says.

    One that `changes` wants a token that may write, and a catalog of now. `body` and `kind` are the
    forms of the request and of the answer, None for none; `errors` the statuses of its refusals.
    One that is not `offered` is left out of the list for clients.
    """

    method: str
    path: str
    name: str
    ask: Callable[[Visit], Reply]
    changes: bool = False
    kind: Any = None
    body: Any = None
    query: Sequence[str] = ()
    headers: Sequence[str] = ()
    errors: Sequence[int] = ()
    status: int = OK
    offered: bool = True

    @property
    def endpoint(self) -> str:
        """The route as the list for clients has it."""
        return f"{self.method} {self.path}"


def config(visit: Visit) -> Reply:
    """Return what the server has, and the prefix of all other paths."""
    lake = visit.lake
    position = warehouse_of(visit.query.get("warehouse", ""), lake)
    prefix = lake.catalog
    if position is not None:
        lake.seen(position)
        prefix = f"{prefix}@{position}"
    offered = [
        route.endpoint
        for route in ICEBERG_ROUTES
        if route.offered or (route.name == REGISTER and lake.places)
    ]
    form = {
        "defaults": {},
        "overrides": {"prefix": prefix},
        "endpoints": offered,
        "idempotency-key-lifetime": LIFETIME,
    }
    return Reply(form=form)


def change(
    method: str, path: str, name: str, ask: Callable[[Visit], Reply], **more: Any
) -> IcebergRoute:
    """Return a route that changes the ledger."""
    return IcebergRoute(method, path, name, ask, changes=True, **more)


ICEBERG_ROUTES: Final[Sequence[IcebergRoute]] = (
    IcebergRoute(
        *(GET, "/v1/config", "config", config),
        kind=forms.CatalogConfig,
        query=("warehouse",),
        offered=False,
    ),
    IcebergRoute(
        *(GET, f"{PREFIX}/namespaces", "list_namespaces", namespaces.list_namespaces),
        kind=forms.NamespaceList,
        query=("parent", *PAGING),
    ),
    change(
        *(POST, f"{PREFIX}/namespaces", "create_namespace", namespaces.create_namespace),
        kind=forms.NamespaceForm,
        body=forms.NamespaceWanted,
        errors=(409,),
    ),
    IcebergRoute(
        *(GET, NAMESPACE, "load_namespace", namespaces.load_namespace), kind=forms.NamespaceForm
    ),
    IcebergRoute(*(HEAD, NAMESPACE, "has_namespace", namespaces.has_namespace), status=NO_CONTENT),
    change(
        *(DELETE, NAMESPACE, "drop_namespace", namespaces.drop_namespace),
        errors=(409,),
        status=NO_CONTENT,
    ),
    change(
        *(POST, f"{NAMESPACE}/properties", "alter_namespace", namespaces.alter_namespace),
        kind=forms.PropertiesAltered,
        body=forms.PropertiesWanted,
        errors=(409,),
    ),
    IcebergRoute(
        *(GET, TABLES, "list_tables", tables.list_tables), kind=forms.TableList, query=PAGING
    ),
    change(
        *(POST, TABLES, "create_table", tables.create_table),
        kind=forms.LoadedTable,
        body=forms.TableWanted,
        errors=(409,),
    ),
    IcebergRoute(
        *(GET, TABLE, "load_table", tables.load_table),
        kind=forms.LoadedTable,
        query=("snapshots",),
        headers=("If-None-Match",),
    ),
    IcebergRoute(*(HEAD, TABLE, "has_table", tables.has_table), status=NO_CONTENT),
    change(
        *(POST, TABLE, "commit_table", tables.commit_table),
        kind=forms.LoadedTable,
        body=forms.TableChanged,
        errors=(409,),
    ),
    change(
        *(DELETE, TABLE, "drop_table", tables.drop_table),
        query=("purgeRequested",),
        errors=(409,),
        status=NO_CONTENT,
    ),
    change(
        *(POST, f"{PREFIX}/tables/rename", "rename_table", tables.rename_table),
        body=forms.RenameWanted,
        errors=(409,),
        status=NO_CONTENT,
    ),
    IcebergRoute(
        *(POST, f"{TABLE}/metrics", "report_metrics", tables.report_metrics),
        body=forms.MetricsReport,
        status=NO_CONTENT,
    ),
    IcebergRoute(
        *(POST, f"{TABLE}/plan", "plan_table", tables.plan_table),
        kind=forms.PlannedScan,
        body=forms.ScanWanted,
        errors=(406,),
    ),
    change(
        *(POST, f"{PREFIX}/transactions/commit", "commit_tables", tables.commit_tables),
        body=forms.TablesChanged,
        errors=(409,),
        status=NO_CONTENT,
    ),
    change(
        *(POST, f"{NAMESPACE}/register", REGISTER, tables.register_table),
        kind=forms.LoadedTable,
        body=forms.TableRegistered,
        errors=(406, 409),
        offered=False,
    ),
)


def by_path() -> Mapping[str, Mapping[str, IcebergRoute]]:
    """Return the routes of each path by method."""
    found: dict[str, dict[str, IcebergRoute]] = {}
    for route in ICEBERG_ROUTES:
        found.setdefault(route.path, {})[route.method] = route
    return found
