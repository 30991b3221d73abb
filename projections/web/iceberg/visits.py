"""Visits: one request with all that its answer goes by, and the reply to it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from ledger.client import Ledger
from projections.iceberg.commits.given_json import Given
from projections.iceberg.errors import IcebergRefusal, bad_request, no_namespace
from projections.iceberg.names import Parts, TableIdentifier, parts_of
from projections.web.iceberg.bodies import body_of
from projections.web.iceberg.catalog import SeenCatalog
from projections.web.iceberg.lake import IcebergLake, position_in

OK: Final = 200
NO_CONTENT: Final = 204
NOT_MODIFIED: Final = 304


class Reply(NamedTuple):
    """The status, the object in the body, None for no body, and further headers."""

    status: int = OK
    form: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = {}

    def body(self) -> bytes:
        """Return the body as JSON."""
        if self.form is None:
            return b""
        return json.dumps(self.form, ensure_ascii=False, separators=(",", ":")).encode()


DONE: Final = Reply(NO_CONTENT)


@dataclass(frozen=True)
class Visit:
    """One request; `user` is the name of its token, None where no token is required.

    `headers` have names in lower case. A parameter that is given twice counts once, as in other
    catalogs.
    """

    lake: IcebergLake
    path: Mapping[str, str]
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""
    user: str | None = None

    @cached_property
    def form(self) -> Given:
        """The object in the body; raises IcebergRefusal for another body."""
        return body_of(self.data)

    @property
    def position(self) -> int | None:
        """The position to which the prefix pins the catalog; raises IcebergRefusal."""
        name, mark, position = self.path["prefix"].partition("@")
        if name != self.lake.catalog:
            raise no_namespace(f"{name}: this is catalog {self.lake.catalog}")
        return position_in(position) if mark else None

    @cached_property
    def seen(self) -> SeenCatalog:
        """The catalog that this request sees; raises IcebergRefusal."""
        return self.lake.seen(self.position)

    @property
    def namespace(self) -> Parts:
        """The namespace in the path."""
        return parts_of(self.path["namespace"])

    @property
    def table(self) -> TableIdentifier:
        """The table in the path."""
        return TableIdentifier(self.namespace, self.path["table"])

    def check_changeable(self) -> None:
        """Raise IcebergRefusal if the catalog is pinned to a position."""
        if self.position is not None:
            raise bad_request(
                "a catalog as of a position can only be read; make changes in catalog "
                f"{self.lake.catalog}"
            )

    @contextmanager
    def client(self) -> Iterator[Ledger]:
        """Yield the ledger as the user of this request changes it.

        What it does not take, such as a control character in a name, is refused.
        """
        with self.lake.client(self.user) as ledger:
            try:
                yield ledger
            except (TypeError, ValueError) as problem:
                raise bad_request(str(problem)) from problem

    def number_in(self, name: str) -> int | None:
        """Return a parameter that is a number above 0, None if missing; raises IcebergRefusal."""
        text = self.query.get(name)
        if text is None:
            return None
        found = position_in(text) if text.isascii() and text.isdigit() else 0
        if not found:
            raise bad_request(f"{name} must be a whole number above 0, got {text!r}")
        return found


def unprocessable(message: str) -> IcebergRefusal:
    """Return the refusal of a request that contradicts itself or an earlier one."""
    return IcebergRefusal(422, "UnprocessableEntityException", message)
