"""The Java side of the catalog: compiled once, by the compiler that PySpark's jars have.

The jar lies in the cache folder, under the sha256 of the sources and the version of PySpark: other
sources, or another PySpark, are compiled anew. `python -m spark_sink.catalog.compiled` compiles
what is missing, without a Spark session, and says where the jar is; `--show` says it in any case.
"""

import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway

from ledger.errors import LedgerError, SettingsError
from ledger.machine.kafka.java import cache_folder, find_java
from spark_sink.catalog.session.starting import IN_ONE_PROCESS, prepare_environment

SOURCES: Final = "java"
SHOW: Final = "--show"
CATALOG_CLASS: Final = "lakeledger.LedgerCatalog"
# Static methods of interfaces need 8 at least.
JAVA_VERSION: Final = 8
# The date in a jar is fixed: equal sources make equal jars.
MADE_AT: Final = (2026, 1, 1, 0, 0, 0)


def sources() -> Mapping[str, str]:
    """Return the Java sources by the names of their files; their folders say what they do."""
    roles = (files("spark_sink.catalog") / SOURCES).iterdir()
    sources = [source for role in roles for source in role.iterdir()]
    return {each.name: each.read_text("utf-8") for each in sorted(sources, key=lambda it: it.name)}


def jar_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the jar, which need not exist yet."""
    text = "\0".join(f"{name}\0{source}" for name, source in sources().items())
    digest = hashlib.sha256(f"{pyspark.__version__}\0{text}".encode()).hexdigest()
    return cache_folder(environ) / "spark" / f"catalog-{pyspark.__version__}-{digest[:32]}.jar"


def compiled(gateway: Any, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the jar; compile it in the JVM of a gateway if it is not there."""
    path = jar_path(environ)
    if not path.exists():
        write_whole(path, jar_of(classes(gateway, sources())))
    return path


def load(context: SparkContext) -> None:
    """Load the classes of the catalog into the JVM of a context; raises SettingsError."""
    gateway: Any = context._gateway  # noqa: SLF001 - PySpark has no public way to the JVM
    jvm = gateway.jvm
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    try:
        loader.loadClass(CATALOG_CLASS)
    except Py4JJavaError:
        jar = compiled(gateway)
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
        if not IN_ONE_PROCESS.fullmatch(str(context.master)):
            jsc: Any = context._jsc  # noqa: SLF001 - as above
            jsc.addJar(str(jar))


def classes(gateway: Any, texts: Mapping[str, str]) -> Mapping[str, bytes]:
    """Compile sources and return the classes by their paths.

    Raises SettingsError if PySpark's classes do not fit the sources.
    """
    jvm = gateway.jvm
    resource = jvm.org.codehaus.commons.compiler.util.resource
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    made = jvm.java.util.HashMap()
    compiler = jvm.org.codehaus.janino.Compiler(
        resource.ResourceFinder.EMPTY_RESOURCE_FINDER,
        jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader),
    )
    compiler.setClassFileCreator(resource.MapResourceCreator(made))
    compiler.setSourceVersion(JAVA_VERSION)
    compiler.setTargetVersion(JAVA_VERSION)
    given = gateway.new_array(resource.Resource, len(texts))
    for at, (name, text) in enumerate(texts.items()):
        given[at] = resource.StringResource(name, text)
    try:
        compiler.compile(given)
    except Py4JError as problem:
        reason = getattr(problem, "java_exception", None)
        said = str(problem) if reason is None else reason.toString()
        raise SettingsError(
            f"the catalog does not fit PySpark {pyspark.__version__}, it was made for 4.2.0. No "
            f"data was touched. Install pyspark==4.2.0. The compiler says: {said}"
        ) from problem
    return {name: bytes(code) for name, code in dict(made).items()}


def jar_of(found: Mapping[str, bytes]) -> bytes:
    """Return a jar of classes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as jar:
        for name, code in sorted(found.items()):
            jar.writestr(zipfile.ZipInfo(name, MADE_AT), code)
    return out.getvalue()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that no other process ever sees in part; raises SettingsError."""
    draft = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as problem:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise SettingsError(
            f"the folder {path.parent} cannot keep the compiled catalog ({problem}): set "
            "LAKELEDGER_CACHE to a folder that this user may write"
        ) from problem


def main() -> None:
    """Compile what is missing."""
    path = jar_path()
    if path.exists():
        if SHOW in sys.argv[1:]:
            sys.stdout.write(f"{path}\n")
        return
    prepare_environment(find_java())
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    try:
        compiled(gateway)
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
    sys.stdout.write(f"compiled the Spark catalog for PySpark {pyspark.__version__}: {path}\n")


if __name__ == "__main__":
    try:
        main()
    except LedgerError as error:
        sys.exit(f"error: {error}")
