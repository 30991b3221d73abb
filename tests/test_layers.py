"""The imports of the project as data: who may import whom, and what stays pure.

Think before a table here is changed: it is what keeps the decisions free of I/O, Kafka in two
modules and the sequencer free of Spark. Sources are read, never imported.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.sources import PRODUCT, Module, lies_in, modules, of_tests, product

# A client knows how a ledger is asked and read; nothing of who leads it, or of what runs it.
SEEN_BY_CLIENTS: Final = (
    *("ledger.core", "ledger.log", "ledger.reads", "ledger.config.address"),
    *("ledger.config.private", "ledger.config.search", "ledger.config.settings", "ledger.clock"),
    "ledger.errors",
    *("ledger.log_lines", "ledger.tracing"),
)

# The rooms of the client, in order: each may import itself and those before it.
ROOMS: Final = (
    *("ledger.keys", "ledger.session", "ledger.properties", "ledger.definitions", "ledger.arrow"),
    "ledger.files",
    *("ledger.expressions", "ledger.snapshot", "ledger.work", "ledger.sdk", "ledger.statements"),
    *("ledger.tables", "ledger.transaction"),
)

# What the modules of a layer may import of the project; the first layer that fits counts. The three
# leaves, errors, log_lines and version, import nothing else of it; every layer below may import
# them, but the core logs nothing.
LAYERS: Final = {
    "ledger.errors": ("ledger.errors",),
    "ledger.version": (),
    "ledger.log_lines": ("ledger.log_lines",),
    "ledger.tracing": ("ledger.tracing", "ledger.errors", "ledger.log_lines"),
    "ledger.core": ("ledger.core", "ledger.errors"),
    "ledger.log": (
        "ledger.log",
        "ledger.core",
        "ledger.errors",
        "ledger.log_lines",
        "ledger.version",
    ),
    **{room: (*ROOMS[: ROOMS.index(room) + 1], *SEEN_BY_CLIENTS) for room in ROOMS},
    "ledger.tables": (*ROOMS[:-1], *SEEN_BY_CLIENTS, "ledger.iceberg"),
    # The command line runs all the others.
    "ledger.cli": ("ledger", "projections", "spark_sink"),
    "ledger": ("ledger",),
    "projections": ("projections", "ledger"),
    "spark_sink": ("spark_sink", "projections", "ledger"),
}

# Packages without a circle between their folders; the modules beside the folders are one of them.
LAYERED: Final = ("spark_sink",)

# Where each library may be imported; one that is not here may not be imported at all.
LIBRARIES: Final = {
    "confluent_kafka": (
        "ledger.log.kafka.log",
        "ledger.log.kafka.admin",
        "ledger.log.kafka.client",
        "ledger.log.kafka.reader",
        "ledger.log.kafka.writer",
        "ledger.log.kafka.topics",
        "ledger.log.kafka.users",
        "ledger.ingest.kafka_source",
    ),
    "cryptography": ("ledger.keys.sealed_rows", "ledger.machine.certificates"),
    "fastavro": (
        "ledger.log.wire.codec",
        "ledger.log.wire.file_list_avro",
        "ledger.backup.container",
        "ledger.backup.images.rows_file",
        "ledger.iceberg.manifests.avro_files",
        "ledger.ingest.values.avro",
    ),
    "duckdb": (*("ledger.expressions.duckdb", "ledger.snapshot", "ledger.statements"),),
    "opentelemetry": ("ledger.tracing",),
    "obstore": ("projections.delta.log.object_log",),
    "polars": ("ledger.snapshot",),
    "pytest": ("ledger.pytest_fixtures",),
    "pyroaring": (
        "ledger.core.rows.bitmaps",
        "ledger.core.state.id_set",
        "ledger.files.deletion_vectors",
    ),
    "msgspec": (
        *("ledger.log.checkpoints", "ledger.reads.remote.http_form", "projections.rows.keys"),
        "ledger.ingest",
    ),
    "rocksdict": ("projections.store.rocks",),
    "sortedcontainers": ("projections.store.memory",),
    "pyspark": ("spark_sink",),
    "py4j": ("spark_sink.catalog", "spark_sink.streams.queries"),
    "pyarrow": (
        *("ledger.backup.s3", "ledger.delta.parquet", "ledger.arrow", "ledger.files"),
        *("ledger.expressions.duckdb", "ledger.snapshot", "ledger.statements", "ledger.tables"),
        *("projections.delta", "spark_sink", "ledger.iceberg", "ledger.forgetting"),
        "ledger.ingest",
        "projections.iceberg.served.file_statistics",
    ),
    "pandas": ("ledger.snapshot", "spark_sink"),
    "starlette": ("projections.web",),
    "uvicorn": ("projections.web.server.server", "projections.web.server.connection"),
    "h11": ("projections.web.server.connection",),
    "jinja2": ("projections.web.pages.rendering",),
    "markupsafe": ("projections.web.pages.rendering",),
    "urllib3": (
        *("ledger.reads.remote.http_questions", "projections.notifier.receivers"),
        "ledger.ingest.values.avro",
    ),
    "psutil": ("ledger", "projections", "spark_sink"),
    "prometheus_client": ("projections", "spark_sink"),
    "rich": ("ledger", "projections", "spark_sink"),
    "sqlglot": (
        "ledger.expressions.parse",
        "ledger.expressions.sql_nodes",
        "ledger.snapshot.sql_text",
        "ledger.snapshot.view_queries",
    ),
    "structlog": ("ledger.log_lines", "ledger.machine.process"),
    "typer": ("ledger", "projections", "spark_sink"),
}

# Where conditions are handled, JSON is read by these only: the tree reads conditions, the others
# read statistics.
CONDITION_ROOMS: Final = (
    "ledger.core.predicates",
    "ledger.expressions",
    "ledger.snapshot",
    "ledger.statements",
)
JSON_READERS: Final = (
    "ledger.core.predicates.json_text",
    "ledger.core.predicates.tree",
    "ledger.expressions.column_bounds",
    "ledger.statements.deleting",
)

# The core is pure: neither I/O nor clock, neither randomness nor threads nor logging.
PURE_LAYER: Final = "ledger.core"
PURE_LIBRARIES: Final = {
    "bisect",
    "collections",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "pyroaring",
    "re",
    "struct",
    "types",
    "typing",
}
# The tables of time zones come from a pinned package, as modules do.
PURE_IN: Final = {"ledger.core.predicates.time_zones": {"io", "pkgutil", "zoneinfo"}}
# Who judges isolation shares nothing with what is judged: these import each other and Python only.
JUDGES: Final = tuple(
    f"tests.isolation.{name}"
    for name in ("plain", "values", "rules", "lake", "pairwise", "reexecution", "judge")
)
IMPURE_CALLS: Final = {"__import__", "breakpoint", "eval", "exec", "input", "open", "print"}


def is_own(name: str) -> bool:
    """Tell whether something is of the project."""
    return lies_in(name, *PRODUCT, "tests")


def layer_of(name: str) -> str:
    return next(layer for layer in LAYERS if lies_in(name, layer))


def library_of(name: str) -> str | None:
    """Return which library something is imported from, None for Python's own and ours."""
    top = name.partition(".")[0]
    return None if is_own(name) or top in sys.stdlib_module_names else top


def module_imports(module: Module) -> set[str]:
    """Return the modules of the product that a module imports, within functions and for types too.

    Packages are not among them: what a package says of itself is no step on the way.
    """
    names = {each.name for each in modules() if not each.is_package}
    found = {name for name in module.imports if is_own(name)}
    return {
        name if name in names else name.rpartition(".")[0]
        for name in found
        if name in names or name.rpartition(".")[0] in names
    } - {module.name}


def folder_of(name: str, package: str) -> str:
    """Return the folder of a package in which a module lies, the package if it is in none."""
    folder = name.removeprefix(f"{package}.").rpartition(".")[0]
    return f"{package}.{folder.partition('.')[0]}".rstrip(".")


def circles(graph: Mapping[str, set[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the modules that lead to each other, each circle in the order of names."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen, left = set[str](), [start]
        while left:
            new = graph.get(left.pop(), set()) - seen
            seen |= new
            left += new
        reach[start] = seen
    rings = {
        tuple(sorted(other for other in reach[each] if each in reach.get(other, ())))
        for each in graph
        if each in reach[each]
    }
    yield from sorted(rings)


def test_the_project_is_seen() -> None:
    """The tables judge something: each layer has modules, and so have the tests."""
    assert set(LAYERS) == {layer_of(module.name) for module in product()}
    assert any(of_tests())


def test_no_module_imports_of_the_project_what_its_layer_may_not_see() -> None:
    wrong = [
        f"{module.name} imports {name}"
        for module in product()
        for name in module.imports
        if is_own(name) and not lies_in(name, *LAYERS[layer_of(module.name)])
    ]
    assert wrong == []


def test_every_import_says_where_it_leads() -> None:
    wrong = [module.name for module in modules() for name in module.imports if name.startswith(".")]
    assert wrong == []


def test_imports_have_no_circle() -> None:
    graph = {module.name: module_imports(module) for module in product()}
    assert list(circles(graph)) == []


@pytest.mark.parametrize("package", LAYERED)
def test_folders_have_no_circle(package: str) -> None:
    """No folder of a package leads back to itself by the imports of its modules."""
    graph: dict[str, set[str]] = {}
    for module in product():
        if lies_in(module.name, package):
            own = folder_of(module.name, package)
            seen = {each for each in module_imports(module) if lies_in(each, package)}
            graph.setdefault(own, set()).update({folder_of(each, package) for each in seen} - {own})
    assert len(graph) > 1
    assert list(circles(graph)) == []


def test_libraries_stay_where_they_belong() -> None:
    wrong = [
        f"{module.name} imports {library}"
        for module in product()
        for library in map(library_of, module.imports)
        if library is not None and not lies_in(module.name, *LIBRARIES.get(library, ()))
    ]
    assert wrong == []


def test_the_tree_alone_reads_conditions_from_json() -> None:
    """Conditions are nodes: no other module takes the arrays of the wire form apart."""
    readers = {
        module.name
        for module in product()
        if lies_in(module.name, *CONDITION_ROOMS)
        for node in module.nodes
        if isinstance(node, ast.Attribute | ast.Name)
        and {"loads", "read_json"} & {getattr(node, "attr", ""), getattr(node, "id", "")}
    }
    assert sorted(readers) == sorted(JSON_READERS)


def test_the_core_is_pure() -> None:
    wrong = [
        f"{module.name} imports {name}"
        for module in product()
        if lies_in(module.name, PURE_LAYER)
        for name in module.imports
        if not is_own(name)
        and name.partition(".")[0] not in PURE_LIBRARIES | PURE_IN.get(module.name, set())
    ]
    assert wrong == []


def test_no_builtin_that_reads_writes_or_runs_text_is_called_in_the_core() -> None:
    wrong = [
        f"{module.name}:{node.lineno} calls {node.func.id}"
        for module in product()
        if lies_in(module.name, PURE_LAYER)
        for node in module.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in IMPURE_CALLS
    ]
    assert wrong == []


def test_no_judge_of_isolation_imports_anything_of_the_product_nor_of_tests_that_do() -> None:
    judges = [module for module in of_tests() if module.name in JUDGES]
    wrong = [
        f"{module.name} imports {name}"
        for module in judges
        for name in module.imports
        if library_of(name) is not None or (is_own(name) and not lies_in(name, *JUDGES))
    ]
    assert len(judges) == len(JUDGES)
    assert wrong == []
