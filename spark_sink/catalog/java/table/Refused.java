package lakeledger;

import java.util.Collections;
import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;

/**
 * What Python refused. PySpark raises it as SparkRuntimeException, with this condition and this
 * text. Spark's own list of conditions does not have it, so the methods that look there are
 * overridden.
 */
public class Refused extends SparkRuntimeException {
    private static final String CONFLICT = "LEDGER_CONFLICT";
    private final String kind;
    private final String said;

    public Refused(String kind, String said) {
        super(
            "USER_RAISED_EXCEPTION",
            Scala.map(Collections.singletonMap("errorMessage", said)),
            null,
            new QueryContext[0],
            "");
        this.kind = kind;
        this.said = said;
    }

    public String getMessage() {
        return "[" + kind + "] " + said;
    }

    public String getCondition() {
        return kind;
    }

    public String getErrorClass() {
        return kind;
    }

    public String getSqlState() {
        return kind.startsWith(CONFLICT) ? "40001" : "58000";
    }

    public Map getMessageParameters() {
        return Collections.singletonMap("message", said);
    }
}
