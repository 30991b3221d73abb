package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkEnv$;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.RpcUtils$;
import scala.PartialFunction;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/** Asks Python for numbers in the process of the driver, for the tasks of other processes too. */
public class DriverNumbers implements RpcEndpoint {
    private static final String NAME = "lakeledger-numbers";
    private static RpcEnv known;
    private final RpcEnv env;

    public DriverNumbers(RpcEnv env) {
        this.env = env;
    }

    /** Lets executors ask; the driver calls it before it sends them tasks. */
    static synchronized void start() {
        RpcEnv env = ((SparkEnv) SparkEnv$.MODULE$.get()).rpcEnv();
        if (env == known) return;
        env.setupEndpoint(NAME, new DriverNumbers(env));
        known = env;
    }

    /** The answer to a question about a write of a catalog. */
    static JsonNode ask(String catalog, ObjectNode asked) {
        try {
            if (PythonCall.isAttached()) return PythonCall.ask(catalog, "", "numbers", asked);
            SparkEnv env = (SparkEnv) SparkEnv$.MODULE$.get();
            String text = Json.text(asked.put("catalog", catalog));
            return Json.read((String) RpcUtils$.MODULE$
                .makeDriverRef(NAME, env.conf(), env.rpcEnv())
                .askSync(text, ClassTag$.MODULE$.apply(String.class)));
        } catch (Throwable problem) {
            Platform.throwException(problem);
            return null;
        }
    }

    public RpcEnv rpcEnv() {
        return env;
    }

    public PartialFunction receiveAndReply(RpcCallContext context) {
        return new Reply(context);
    }

    static class Reply extends AbstractPartialFunction {
        private final RpcCallContext context;

        Reply(RpcCallContext context) {
            this.context = context;
        }

        public boolean isDefinedAt(Object message) {
            return message instanceof String;
        }

        public Object apply(Object message) {
            try {
                ObjectNode asked = (ObjectNode) Json.read((String) message);
                context.reply(Json.text(DriverNumbers.ask(Json.text(asked, "catalog"), asked)));
            } catch (Throwable problem) {
                context.sendFailure(problem);
            }
            return BoxedUnit.UNIT;
        }
    }
}
