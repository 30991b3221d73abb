"""ALTER TABLE t ADD, DROP and REPLACE PARTITION FIELD, as Iceberg has them."""

from spark_sink.catalog.sql.tokens import Tokens

FORM = (
    "ALTER TABLE t ADD PARTITION FIELD transform, DROP PARTITION FIELD transform, or REPLACE "
    "PARTITION FIELD transform WITH transform"
)
FIELD = ("PARTITION", "FIELD")


def partition_field(tokens: Tokens) -> tuple[str, dict[str, str | int | float | bool]] | None:
    """Read what follows ALTER TABLE and the table, None for other words than these."""
    if tokens.takes("ADD", *FIELD):
        return "partition_field", {"add": tokens.until("AS", what="a transform")}
    if tokens.takes("DROP", *FIELD):
        return "partition_field", {"drop": tokens.until("AS", what="a transform")}
    if not tokens.takes("REPLACE", *FIELD):
        return None
    dropped = tokens.until("WITH", what="a transform")
    tokens.needs("WITH")
    return "partition_field", {"drop": dropped, "add": tokens.until("AS", what="a transform")}
