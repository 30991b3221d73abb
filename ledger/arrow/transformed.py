"""Partition transforms of rows: the texts by which new files are divided, and orders by them.

Times, cut texts and numbers become few different values, which the core spells one by one. The
buckets of numbers and times are computed for whole columns.
"""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ledger.arrow.schema import TableSchema
from ledger.core.partitions.murmur import FIRST, SECOND
from ledger.core.partitions.transforms import PartitionTransform
from ledger.core.predicates.types import BITS, TIMES, Kind, SparkType, parse_type

SIGN: Final = 0x7FFFFFFF
WIDTH_DIGITS: Final = 10
"""The next lower multiple of a width may have so many more digits than a number."""


def with_transforms(rows: Any, schema: TableSchema) -> Any:
    """Return a batch or table with a column of texts for each transform that divides its files.

    The column has the text of the transform as its name.
    """
    for text, transform in schema.transforms.items():
        column = schema.by_name[transform.column.lower()]
        kind = parse_type(column.declared)
        assert kind is not None, f"{text} takes no column of type {column.declared}"
        made = transformed(one_array(rows.column(column.name)), transform, kind)
        rows = rows.append_column(text, made)
    return rows


def transformed(values: Any, transform: PartitionTransform, kind: SparkType) -> Any:
    """Return the results of a transform as texts of the log."""
    is_whole = kind.kind in BITS
    if transform.kind == "bucket" and (is_whole or kind.kind in TIMES):
        return buckets(whole_numbers(values), transform.width).cast(pa.string())
    if transform.kind == "truncate" and is_whole:
        return multiples(values.cast(pa.int64()), transform).cast(pa.string())
    encoded = coarse(values, transform, kind).dictionary_encode()
    texts = [
        None if each is None else transform.of_value(each, kind)
        for each in map(plain, encoded.dictionary.to_pylist())
    ]
    return pa.array(texts, pa.string()).take(encoded.indices)


def ranked(values: Any, transform: PartitionTransform) -> Any:
    """Return what sorts as the results of a transform do, for all values that a column may have."""
    type_ = values.type
    is_decimal = pa.types.is_decimal(type_)
    if transform.kind == "bucket" and not (is_decimal or pa.types.is_string(type_)):
        return buckets(whole_numbers(values), transform.width)
    if transform.kind == "truncate" and pa.types.is_string(type_):
        return pc.utf8_slice_codeunits(values, 0, transform.width)
    if transform.kind == "truncate" and not is_decimal:
        return quotients(values.cast(pa.int64()), transform.width)
    if transform.kind in ("bucket", "truncate"):
        kind = SparkType(Kind.STRING)
        if is_decimal:
            kind = SparkType(Kind.DECIMAL, type_.precision, type_.scale)
        texts = transformed(one_array(values), transform, kind)
        is_cut = transform.kind == "truncate"
        wide = pa.decimal256(type_.precision + WIDTH_DIGITS, type_.scale) if is_cut else pa.int64()
        return texts.cast(wide)
    # A time is the local time of UTC.
    times = values if pa.types.is_date(type_) else values.cast(pa.timestamp("us"))
    return pc.floor_temporal(times, unit=transform.kind.removesuffix("s"))


def coarse(values: Any, transform: PartitionTransform, kind: SparkType) -> Any:
    """Return values of which fewer are different, with the same results."""
    if transform.kind == "truncate" and kind.kind is Kind.STRING:
        return pc.utf8_slice_codeunits(values, 0, transform.width)
    if kind.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        times = values.cast(pa.timestamp("us"))  # Local times of UTC.
        return pc.floor_temporal(times, unit="hour" if transform.kind == "hours" else "day")
    return values


def plain(value: Any) -> Any:
    """Return a value as the core has it: its times have no zone."""
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value


def whole_numbers(values: Any) -> Any:
    """Return what is hashed of numbers and times: a number of 64 bits, days or microseconds."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32()).cast(pa.int64())
    return values.cast(pa.int64())


def multiples(numbers: Any, transform: PartitionTransform) -> Any:
    """Return the next lower multiples of a width; raises ValueError below 64 bits."""
    try:
        return pc.subtract_checked(numbers, remainder(numbers, transform.width))
    except pa.ArrowInvalid as problem:
        raise ValueError(
            f"column {transform.column} has a value near the least one of 64 bits, which "
            f"{transform.text} cannot take: leave that row out, or divide the table otherwise"
        ) from problem


def quotients(numbers: Any, width: int) -> Any:
    """Return how often a width fits into numbers, rounded down."""
    whole = pc.divide(numbers, width)
    is_above = pc.less(pc.subtract(numbers, pc.multiply(whole, width)), 0)
    return pc.if_else(is_above, pc.subtract(whole, 1), whole)


def remainder(numbers: Any, width: int) -> Any:
    """Return what is left of numbers above the next lower multiple of a width."""
    left = pc.subtract(numbers, pc.multiply(pc.divide(numbers, width), width))
    return pc.if_else(pc.less(left, 0), pc.add(left, width), left)


def buckets(numbers: Any, count: int) -> Any:
    """Return the buckets of numbers of 64 bits; this is `murmur.hash_of_long` for a column."""
    low, high = (
        pc.bit_wise_and(part, 0xFFFFFFFF).cast(pa.uint32())
        for part in (numbers, pc.shift_right(numbers, 32))
    )
    state = pa.scalar(0, pa.uint32())
    for block in (low, high):
        turned_block = turned(product(block, FIRST), 15)
        state = pc.bit_wise_xor(state, product(turned_block, SECOND))
        state = pc.add(product(turned(state, 13), 5), pa.scalar(0xE6546B64, pa.uint32()))
    state = pc.bit_wise_xor(state, pa.scalar(8, pa.uint32()))
    state = product(shifted(state, 16), 0x85EBCA6B)
    state = product(shifted(state, 13), 0xC2B2AE35)
    found = pc.bit_wise_and(shifted(state, 16), pa.scalar(SIGN, pa.uint32())).cast(pa.int64())
    return remainder(found, count)


def product(numbers: Any, factor: int) -> Any:
    """Return the lowest 32 bits of products."""
    return pc.multiply(numbers, pa.scalar(factor, pa.uint32()))


def turned(numbers: Any, bits: int) -> Any:
    """Return numbers whose highest bits come in from below."""
    left = pc.shift_left(numbers, pa.scalar(bits, pa.uint32()))
    return pc.bit_wise_or(left, pc.shift_right(numbers, pa.scalar(32 - bits, pa.uint32())))


def shifted(numbers: Any, bits: int) -> Any:
    """Return numbers with their highest bits mixed into the lower ones."""
    return pc.bit_wise_xor(numbers, pc.shift_right(numbers, pa.scalar(bits, pa.uint32())))


def one_array(values: Any) -> Any:
    """Return a column in one piece."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
