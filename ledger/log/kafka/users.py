"""Users of a cluster: their passwords for SCRAM, and their rights. Only `up` calls this module."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from ledger.errors import LogUnavailableError
from ledger.log.kafka.client import made
from ledger.log.kafka.connection import Connection, as_log_error
from ledger.log.kafka.rights import Acl

ITERATIONS: Final = 8192
_PAUSE_S: Final = 0.02


def set_users(
    bootstrap: str,
    client: Mapping[str, Any],
    passwords: Mapping[str, str],
    acls: Sequence[Acl],
    timeout_s: float,
) -> None:
    """Give users their passwords and rights, and wait until the broker goes by them.

    Raises LogUnavailableError if the cluster does not answer or refuses.
    """
    connection = Connection(bootstrap, client)
    trouble = connection.trouble()
    admin = made(AdminClient, connection.admin(trouble))
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    wanted = {binding_of(acl) for acl in acls}
    try:
        upserted = admin.alter_user_scram_credentials(
            [
                UserScramCredentialUpsertion(user, scram, word.encode())
                for user, word in passwords.items()
            ],
            request_timeout=timeout_s,
        )
        answered(upserted.values(), timeout_s)
        missing = wanted - granted(admin, timeout_s)
        if missing:
            answered(
                admin.create_acls(list(missing), request_timeout=timeout_s).values(), timeout_s
            )
        ends_s = time.monotonic() + timeout_s
        while wanted - granted(admin, timeout_s) or passwords.keys() - users_with_password(
            admin, timeout_s
        ):
            if time.monotonic() > ends_s:
                raise LogUnavailableError(
                    f"the broker at {bootstrap} does not go by new users and rights after "
                    f"{timeout_s:.0f} s; start it again"
                )
            time.sleep(_PAUSE_S)
    except KafkaException as problem:
        raise as_log_error(
            problem.args[0], "users", because=trouble.last, right="ALTER", user=trouble.user
        ) from problem


def answered(asked: Any, timeout_s: float) -> None:
    """Wait for answers; raises KafkaException."""
    each: Future[Any]
    for each in asked:
        each.result(timeout_s)


def granted(admin: AdminClient, timeout_s: float) -> set[AclBinding]:
    """Return all rights that the broker knows."""
    some: tuple[Any, ...] = (ResourceType.ANY, None, ResourcePatternType.ANY, None, None)
    asked = AclBindingFilter(*(*some, AclOperation.ANY, AclPermissionType.ANY))
    return set(admin.describe_acls(asked, request_timeout=timeout_s).result(timeout_s))


def users_with_password(admin: AdminClient, timeout_s: float) -> set[str]:
    """Return the names that the brokers keep a SCRAM login of."""
    asked: Any = admin.describe_user_scram_credentials(request_timeout=timeout_s)
    return set(asked.result(timeout_s))


def binding_of(acl: Acl) -> AclBinding:
    """Return a right as Kafka's client has it."""
    return AclBinding(
        ResourceType[acl.resource],
        acl.name,
        ResourcePatternType[acl.pattern],
        acl.principal,
        acl.host,
        AclOperation[acl.operation],
        AclPermissionType[acl.permission],
    )
