"""The server of this process that the JVM of a session asks. It demands the token of the gateway.

PySpark starts it without a token, so that every process of the machine could ask. Py4J's client in
the JVM loses the token when PySpark names the port, so it gets the token again.
"""

from typing import Any

from py4j.java_gateway import JavaObject, quiet_shutdown
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started

from ledger.errors import SettingsError
from spark_sink.catalog.compiled import load


def guard_callbacks(context: SparkContext) -> None:
    """Load the classes of the catalog into a JVM, and let the server that it asks demand a token.

    `foreachBatch` starts that server too, and uses one that runs. Raises SettingsError as `load`
    and `serve_callbacks`.
    """
    load(context)
    serve_callbacks(context._gateway)  # noqa: SLF001 - PySpark has no public way to the JVM


def serve_callbacks(gateway: Any) -> None:
    """Start the server of a gateway if it does not run, and let it demand the token.

    A server that another library started continues: its open connections end, and new ones must
    show the token. Raises SettingsError for a gateway without a token.
    """
    token = gateway.gateway_parameters.auth_token
    if not token:
        raise SettingsError(
            "the gateway between Python and Spark's JVM must have a token, got none: any process "
            "of this machine could change tables through it. Let PySpark start the JVM"
        )
    # A gateway hands on unknown names to the JVM, so getattr finds an attribute of any name.
    server = vars(gateway).get("_callback_server")
    given = (server or gateway).callback_server_parameters
    was_open = server is not None and given.auth_token is None
    given.auth_token = token
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    jvm_side = JavaObject("GATEWAY_SERVER", gateway._gateway_client)  # noqa: SLF001 - as PySpark
    if was_open:
        for connection in list(server.connections):
            quiet_shutdown(connection.socket)
        jvm_side.resetCallbackClient(
            jvm_side.getCallbackClient().getAddress(), jvm_side.getCallbackClient().getPort()
        )
    gateway.jvm.lakeledger.Callbacks.showToken(jvm_side, token)
