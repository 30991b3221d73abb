package lakeledger;

import java.lang.reflect.Field;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.CallbackClient;
import py4j.Gateway;
import py4j.GatewayServer;
import py4j.Py4JJavaServer;
import py4j.PythonClient;

/** The client with which this JVM asks Python. */
public final class Callbacks {
    private Callbacks() {}

    /**
     * Lets the client show a token. Py4J knows the token, and loses it when PySpark tells the JVM
     * the port of Python.
     */
    public static void showToken(GatewayServer server, String token) throws Exception {
        CallbackClient client = (CallbackClient) server.getCallbackClient();
        Field held = CallbackClient.class.getDeclaredField("authToken");
        held.setAccessible(true);
        if (token.equals(held.get(client))) return;
        PythonClient made =
            new PythonClient(
                server.getGateway(), null, client.getPort(), client.getAddress(),
                CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
                TimeUnit.SECONDS, SocketFactory.getDefault(), (Py4JJavaServer) server, true, 0,
                token);
        Field place = Gateway.class.getDeclaredField("cbClient");
        place.setAccessible(true);
        place.set(server.getGateway(), made);
    }
}
