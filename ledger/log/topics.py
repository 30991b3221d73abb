"""Topics as Kafka keeps them: whether a broker can serve them yet."""

import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

_PAUSE_S = 0.02
_SILENT = 0  # A broker that is still starting is no news for the terminal.


def wait_until_ready(bootstrap: str, timeout_s: float) -> bool:
    """Wait until a broker answers and counts as alive; return whether it did in time.

    While it registers, a broker already answers but names no broker that could take a topic.
    """
    deadline = time.monotonic() + timeout_s
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": _SILENT})
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            if client.list_topics(timeout=left_s).brokers:
                return True
        except KafkaException:
            pass  # Not reachable yet; the deadline decides.
        time.sleep(_PAUSE_S)
    return False
