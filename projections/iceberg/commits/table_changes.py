"""One table of a commit, as the request of a client has it."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

from projections.iceberg.commits.given_json import list_in, names_in, object_in, object_of, text_in
from projections.iceberg.commits.requirements import Requirement, asks_to_create, requirement_of
from projections.iceberg.commits.updates import AskedChanges, changes_of
from projections.iceberg.errors import bad_request
from projections.iceberg.names import TableIdentifier

REQUIREMENTS_MAX: Final = 100
UPDATES_MAX: Final = 10_000
PARTS_MAX: Final = 100


class TableChange(NamedTuple):
    """What a client asks of one table, and what it takes for granted."""

    identifier: TableIdentifier
    requirements: Sequence[Requirement]
    asked: AskedChanges

    @classmethod
    def parse(cls, given: Any) -> Self:
        """Return the change of one table, with its identifier in the request.

        Raises IcebergRefusal for a request of another form, and for what is not obeyed.
        """
        request = object_of("a change of a table", given)
        named = object_in(request, "identifier", "a change of a table")
        namespace = names_in(named, "namespace", "identifier", PARTS_MAX)
        identifier = TableIdentifier(tuple(namespace), text_in(named, "name", "identifier"))
        what = f"the change of {identifier.text()}"
        requirements = [
            requirement_of(each)
            for each in list_in(request, "requirements", what, REQUIREMENTS_MAX)
        ]
        asked = changes_of(list_in(request, "updates", what, UPDATES_MAX))
        if asks_to_create(requirements) and (len(requirements) > 1 or asked.is_replaced):
            raise bad_request(
                f"{what} must have assert-create alone, or name a table that is there"
            )
        return cls(identifier, requirements, asked)

    @property
    def name(self) -> str:
        """The table as messages show it."""
        return self.identifier.text()

    @property
    def creates(self) -> bool:
        """Whether the change creates its table."""
        return asks_to_create(self.requirements)
