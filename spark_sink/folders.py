"""Folders of a table: its location, the folders of write ids, and patterns of their names."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Final

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession

from ledger.core.commands import TableDefinition
from ledger.core.partitions.names import DELTA_FOLDER
from ledger.definitions.locations import as_stored
from ledger.errors import UnreadableTableError
from spark_sink.catalog.read.files import hadoop

# Hive's folders of compacted and deleted rows are searched too, in order to refuse them.
DATA_FOLDERS: Final = "{delta_,base_,delete_delta_}*"
# Characters that Spark and Hive escape in the name of a folder, and those that no folder can have.
ESCAPED: Final = re.compile(r"[\x01-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
DIVIDING: Final = "/="
_GLOB: Final = re.compile(r"([\\*?\[\]{}])")


def delta_folders(spark: SparkSession, table: TableDefinition) -> Iterator[tuple[str, int]]:
    """Yield every folder of a write id, with the id; raises UnreadableTableError for others."""
    levels = [f"{in_any_spelling(column)}=*" for column in table.partition_columns]
    pattern = "/".join([literal(location_of(table)), *levels, DATA_FOLDERS])
    for path in folders(spark, pattern):
        found = DELTA_FOLDER.fullmatch(path.rsplit("/", 1)[-1])
        if found is None:
            raise UnreadableTableError(f"the folder {path} is not named delta_<write id>")
        yield path, int(found[1])


def check_none_divides(frame: DataFrame) -> None:
    """Raise UnreadableTableError for a file in a partition within a folder of a write id.

    Spark would use that partition's value for a column, instead of the one in the file or the
    table.
    """
    for file in files_of(frame):
        *levels, _ = file.split("/")
        within = takewhile(lambda name: not DELTA_FOLDER.fullmatch(name), reversed(levels))
        if any("=" in name for name in within):
            raise UnreadableTableError(
                f"the file {file} lies in a partition within the folder of its write id. It must "
                "be the other way round: the folder of the write id within the partition folders"
            )


def files_of(frame: DataFrame) -> Sequence[str]:
    """Return the URIs of the files of a scan, which Spark keeps from its listing."""
    context: Any = frame.sparkSession.sparkContext
    # PySpark brings them one by one: 0.6 s for 6,000.
    files = context._jvm.scala.runtime.ScalaRunTime.genericWrapArray(  # noqa: SLF001
        frame._jdf.inputFiles()  # noqa: SLF001
    )
    joined: str = files.mkString("\n")
    return joined.splitlines()


def lies_at(spark: SparkSession, location: str, pattern: str) -> bool:
    """Return whether a name that fits a pattern is at a location, even one with a colon."""
    system, path = in_hadoop(spark, location)
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    fitting = jvm.org.apache.hadoop.fs.GlobFilter(pattern)
    return bool(system.exists(path) and len(system.listStatus(path, fitting)))


def is_there(spark: SparkSession, text: str) -> bool:
    """Return whether a file or a folder exists at a path, without a listing."""
    system, path = in_hadoop(spark, text)
    return bool(system.exists(path))


def folders(spark: SparkSession, pattern: str) -> list[str]:
    """Return the folders that a pattern fits, in order, wherever Spark can read them."""
    system, path = in_hadoop(spark, pattern)
    try:
        found = system.globStatus(path) or ()
    except IllegalArgumentException as refused:
        raise UnreadableTableError(
            f"Hadoop cannot search folders {pattern}: no name there may have a colon; in the name "
            f"of a partition a colon is written as %3A ({refused})"
        ) from refused
    return sorted(each.getPath().toString() for each in found if each.isDirectory())


def in_hadoop(spark: SparkSession, text: str) -> tuple[Any, Any]:
    """Return a path as a Hadoop path, behind its file system."""
    # PySpark has no public way to the file systems that it reads from.
    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(text)  # noqa: SLF001
    return path.getFileSystem(context._jsc.hadoopConfiguration()), path  # noqa: SLF001


def location_of(table: TableDefinition) -> str:
    """Return the location of a table; raises UnreadableTableError without one."""
    if not table.location:
        raise UnreadableTableError(
            "the table must have a location to be read by Spark; alter it to have one"
        )
    return hadoop(as_stored(table.location))


def in_any_spelling(name: str) -> str:
    """Return a pattern that fits the name of a column in any spelling of a folder."""
    return "".join(map(character_pattern, name))


def character_pattern(character: str) -> str:
    """Return a character as a pattern: in any case, as it is, and as Spark and Hive write it."""
    if ESCAPED.match(character):
        code = f"%{ord(character):02X}"
        return code if character in DIVIDING else f"{{{literal(character)},{code}}}"
    lower, upper = character.lower(), character.upper()
    return literal(character) if lower == upper else f"[{lower}{upper}]"


def literal(text: str) -> str:
    """Return a pattern that fits only this text."""
    return _GLOB.sub(r"\\\1", text)
