"""Decide changes of namespaces, each at once: create, alter, drop.

A namespace that only tables lie in is there without a creation. It can be altered, which makes it a
fact of its own, and it ends with the last of its tables.
"""

from ledger.core.commands import ChangeNamespace
from ledger.core.decide.tables import check_ahead, check_name
from ledger.core.events.events import NamespaceChanged
from ledger.core.limits import (
    NAMESPACE_PROPERTIES_MAX,
    NAMESPACES_MAX,
    PROPERTY_CHARS_MAX,
    TABLE_NAME_CHARS_MAX,
)
from ledger.core.refusals import Reason, Refused
from ledger.core.state.domain import DomainState
from ledger.core.state.namespaces import Namespace


def change(state: DomainState, command: ChangeNamespace) -> NamespaceChanged:
    """Return the change of a namespace that its state allows; raises Refused."""
    check_request(state, command)
    known = state.namespaces.named(command.catalog, command.name)
    if known is not None and 0 < command.read_at < known.changed:
        raise Refused(
            Reason.METADATA_CHANGED,
            f"namespace {known.name} was read at position {command.read_at} and changed at "
            f"position {known.changed}; read it again",
        )
    match command.act:
        case "create":
            check_new(state, known)
        case "alter":
            check_known(state, command, known)
        case "drop":
            check_empty(state, command)
            check_known(state, command, known)
    name = command.name if known is None else known.name
    properties = () if command.act == "drop" else command.properties
    return NamespaceChanged(command.read_at, command.catalog, name, command.act, properties)


def check_request(state: DomainState, command: ChangeNamespace) -> None:
    """Refuse a change that no state allows."""
    check_ahead(state, command.read_at, 0)
    if command.catalog not in state.catalogs:
        raise Refused(
            Reason.UNKNOWN_CATALOG, f"there is no catalog {command.catalog!r} in this domain"
        )
    check_name(command.name)
    if not all(command.name.split(".")):
        raise Refused(
            Reason.COMMAND_INVALID,
            f"the parts of a namespace must have a letter at least, got {command.name!r}",
        )
    keys = [each.key for each in command.properties]
    if keys != sorted(set(keys)):
        raise Refused(Reason.COMMAND_INVALID, "properties must differ and ascend by key")
    sizes = [(len(each.key), len(each.value)) for each in command.properties]
    is_long = any(key > TABLE_NAME_CHARS_MAX or text > PROPERTY_CHARS_MAX for key, text in sizes)
    if len(sizes) > NAMESPACE_PROPERTIES_MAX or is_long:
        raise Refused(
            Reason.LIMIT_EXCEEDED,
            f"a namespace must have {NAMESPACE_PROPERTIES_MAX} properties at most, with keys of "
            f"{TABLE_NAME_CHARS_MAX} and values of {PROPERTY_CHARS_MAX} characters",
        )


def check_new(state: DomainState, known: Namespace | None) -> None:
    """Refuse a name that was created before, and one namespace too many."""
    if known is not None:
        raise Refused(Reason.NAMESPACE_EXISTS, f"there is a namespace {known.name} already")
    if len(state.namespaces.by_name) >= NAMESPACES_MAX:
        raise Refused(
            Reason.LIMIT_EXCEEDED, f"a ledger must have {NAMESPACES_MAX} namespaces at most"
        )


def check_known(state: DomainState, command: ChangeNamespace, known: Namespace | None) -> None:
    """Refuse to change a namespace that is not there."""
    if known is not None:
        return
    inside = state.namespaces.inside(state.tables, command.catalog, command.name)
    if next(inside, None) is None:
        raise Refused(Reason.UNKNOWN_NAMESPACE, f"there is no namespace {command.name}")
    check_new(state, known)


def check_empty(state: DomainState, command: ChangeNamespace) -> None:
    """Refuse to drop a namespace with something in it."""
    inside = state.namespaces.inside(state.tables, command.catalog, command.name)
    first = next(inside, None)
    if first is not None:
        raise Refused(
            Reason.NAMESPACE_NOT_EMPTY, f"namespace {command.name} is not empty: {first} is in it"
        )
