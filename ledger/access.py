"""The rights of the roles as what an administrator of Kafka gives them by.

The table itself is in `ledger.log.rights`. A principal is the name of a user, or what Kafka calls
it in full, such as `User:CN=lake`.
"""

import shlex
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from ledger.log.rights import bindings

USER: Final = "User:"


class Acl(NamedTuple):
    """One right as Kafka's tools and its API name it."""

    principal: str
    host: str
    resource: str
    name: str
    pattern: str
    operation: str
    permission: str


def acls(ledger: str, principal: str, role: str) -> list[Acl]:
    """Return the rights of a principal in a role of a ledger."""
    named = principal if ":" in principal else f"{USER}{principal}"
    return [
        Acl(named, "*", "TOPIC", topic, "LITERAL", right, "ALLOW")
        for topic, right in bindings(ledger, role)
    ]


def commands(given: list[Acl], bootstrap: str) -> Iterator[str]:
    """Yield a command of Kafka's own tool for the rights on each topic."""
    for (principal, topic), group in groupby(given, lambda each: (each.principal, each.name)):
        operations = [word for each in group for word in ("--operation", spelled(each.operation))]
        words = ["kafka-acls.sh", "--bootstrap-server", bootstrap, "--add"]
        yield shlex.join([*words, "--allow-principal", principal, *operations, "--topic", topic])


def spelled(operation: str) -> str:
    """Return an operation as the tool spells it: DESCRIBE_CONFIGS is DescribeConfigs there."""
    return "".join(word.capitalize() for word in operation.split("_"))
