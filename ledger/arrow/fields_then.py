"""What the fields of a column's type were when a file was written: by their ids, else by name."""

from typing import Final, NamedTuple

import pyarrow as pa

from ledger.arrow.type_fields import FORMER, PHYSICAL, field_number, physical_name

ABSENT: Final = "\x01absent "
"""No field of a file has a name that begins so."""


class FieldThen(NamedTuple):
    """What a field was when a file was written: its name there, None if it was absent."""

    name: str | None
    type: pa.DataType


def field_then(field: pa.Field, then: pa.DataType) -> FieldThen:
    """Return what a field of a struct was in the struct of another time.

    Definitions of earlier releases have no ids of fields: there a field goes by its former name.
    """
    known = list(then) if pa.types.is_struct(then) else []
    number, name = field_number(field), physical_name(field)
    if number:
        same = next((each for each in known if field_number(each) == number), None)
        if same is not None:
            return FieldThen(physical_name(same), same.type)
        former = (field.metadata or {}).get(FORMER)
        if former is None and PHYSICAL not in (field.metadata or {}):
            return FieldThen(None, field.type)
        name = name if former is None else bytes(former).decode()
    plain = {each.name.lower(): each for each in known if not (number and field_number(each))}
    alike = plain.get(name.lower())
    if alike is None:
        return FieldThen(None if number and known else name, field.type)
    return FieldThen(physical_name(alike), alike.type)


def type_in_files(type_: pa.DataType, then: pa.DataType) -> pa.DataType:
    """Return a type with the names that its fields had in the type of another time."""
    if pa.types.is_struct(type_):
        fields = [(each, field_then(each, then)) for each in type_]
        return pa.struct(
            [
                pa.field(
                    f"{ABSENT}{each.name}" if found.name is None else found.name,
                    type_in_files(each.type, found.type),
                )
                for each, found in fields
            ]
        )
    if pa.types.is_list(type_):
        before = then if pa.types.is_list(then) else type_
        return pa.list_(pa.field("element", type_in_files(type_.value_type, before.value_type)))
    if pa.types.is_map(type_):
        before = then if pa.types.is_map(then) else type_
        return pa.map_(
            type_in_files(type_.key_type, before.key_type),
            type_in_files(type_.item_type, before.item_type),
        )
    return type_


def has_fields_of(type_: pa.DataType, then: pa.DataType) -> bool:
    """Return whether files of a type of another time have the fields of this one by its names."""
    if pa.types.is_struct(type_):
        known = list(then) if pa.types.is_struct(then) else []
        taken = {physical_name(each).lower() for each in known}
        return all(is_alike(each, field_then(each, then), taken) for each in type_)
    if pa.types.is_list(type_) and pa.types.is_list(then):
        return has_fields_of(type_.value_type, then.value_type)
    if pa.types.is_map(type_) and pa.types.is_map(then):
        keys = has_fields_of(type_.key_type, then.key_type)
        return keys and has_fields_of(type_.item_type, then.item_type)
    return True


def is_alike(field: pa.Field, then: FieldThen, taken: set[str]) -> bool:
    """Return whether a field has its present name in files, or files lack both."""
    name = physical_name(field)
    if then.name is None:
        return name.lower() not in taken
    return then.name == name and has_fields_of(field.type, then.type)
