"""Files of a table as one scan of Spark, each in its partition from the ledger.

Spark takes the partition of a file from its folder. The ledger may record another one, or another
place: `LedgerFiles.java` passes it to Spark, compiled by the compiler of Spark's own queries. A
scan costs what its files cost, however many partitions they have.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files as resources
from typing import Any, Final, NamedTuple

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession

from ledger.errors import UnreadableTableError
from spark_sink.unions import quoted

SOURCE: Final = "LedgerFiles.java"
MAKER: Final = "lakeledger.LedgerFiles$Maker"
# No path and no value of the ledger contains it.
END: Final = "\0"
SHOWN: Final = 3

Values = tuple[str | None, ...]


class Placed(NamedTuple):
    """A file: the paths at one of which it is, and its partition values, None or "" for NULL."""

    paths: Sequence[str]
    values: Values


def scan_of(
    spark: SparkSession, files: Sequence[Placed], types: Mapping[str, str], columns: str | None
) -> DataFrame:
    """Return the rows of files with their partition values, in columns of these SQL types.

    `columns` are the columns in the files, as DDL; None means all that they have. A value that its
    column cannot hold is NULL, see `unfit`.
    Raises UnreadableTableError for a file that is missing, or exists at two of its paths, and for a
    path that Hadoop cannot search.
    """
    values = list(dict.fromkeys(each.values for each in files))
    numbers = {each: number for number, each in enumerate(values)}
    places = [
        (path, numbers[each.values], at) for at, each in enumerate(files) for path in each.paths
    ]
    texts = (
        END.join(path for path, _, _ in places),
        ",".join(str(partition) for _, partition, _ in places),
        ",".join(str(file) for _, _, file in places),
    )
    try:
        index = maker(spark, types, values).files(*texts)
    except IllegalArgumentException as refused:
        raise UnreadableTableError(
            f"Hadoop cannot search a path of the table: none may be of another host ({refused})"
        ) from refused
    check_found(files, list(index.counts(len(files))))
    return DataFrame(index.rows(columns), spark)


def check_found(files: Sequence[Placed], counts: Sequence[int]) -> None:
    """Raise UnreadableTableError unless each file exists at exactly one of its paths."""
    missing = [each.paths[0] for each, count in zip(files, counts, strict=True) if not count]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise UnreadableTableError(
            f"the ledger names files that are not there: {', '.join(missing[:SHOWN])}{more}. Bring "
            "them back, or remove them from the table"
        )
    double = next((each for each, count in zip(files, counts, strict=True) if count > 1), None)
    if double is not None:
        raise UnreadableTableError(
            f"the path {double.paths[0]} may mean two files: "
            f"{' and '.join(double.paths)}. Remove the one that is not of the table"
        )


def unfit(
    spark: SparkSession, values: Sequence[Values], types: Mapping[str, str]
) -> Mapping[Values, Sequence[str]]:
    """Return the partitions with a value that its column cannot hold, and those columns."""
    names, found = list(types), maker(spark, types, values).unfit()
    wrong: dict[Values, list[str]] = {}
    for at in map(int, found.split(",") if found else ()):
        row, column = divmod(at, len(names))
        wrong.setdefault(values[row], []).append(names[column])
    return wrong


def maker(spark: SparkSession, types: Mapping[str, str], values: Sequence[Values]) -> Any:
    """Return the object that makes scans in the JVM of a session."""
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
    texts = END.join(value or "" for row in values for value in row) if types else ""
    # PySpark has no public way to the JVM.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    made = constructor(spark.sparkContext)
    arguments = jvm.java.util.ArrayList()
    for each in (spark._jsparkSession, columns, texts):  # noqa: SLF001
        arguments.add(each)
    return made.newInstance(arguments.toArray())


@cache
def constructor(context: Any) -> Any:
    """Return the constructor of such objects, compiled once for the JVM of a context."""
    jvm = context._jvm  # noqa: SLF001
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook((resources("spark_sink") / SOURCE).read_text(encoding="utf-8"))
    return compiler.getClassLoader().loadClass(MAKER).getConstructors()[0]
