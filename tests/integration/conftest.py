"""What tests of refusals and rights share: one broker that denies what nobody granted."""

from collections.abc import Iterator

import pytest

from ledger.log.kafka.rights import ROLES
from tests.integration.secure_broker import OPENSSL, SecureBroker, secure_broker

NOBODY = "nobody"


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    """Run a broker with TLS, logins and rights; there is a user for each role, named as that."""
    if OPENSSL is None:
        pytest.skip("there is no openssl to make certificates with")
    with secure_broker(tmp_path_factory.mktemp("secured"), [*ROLES, NOBODY]) as broker:
        yield broker
