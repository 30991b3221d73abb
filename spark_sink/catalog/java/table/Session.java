package lakeledger;

import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import scala.Option;

/** The session of Spark in which this thread works, and what the thread says of itself. */
final class Session {
    private static final String TXN = "lakeledger.txn";

    private Session() {}

    static SparkSession spark() {
        return (SparkSession) org.apache.spark.sql.SparkSession.active();
    }

    /** The name of the session's time zone by its rules: Spark takes PST for one, too. */
    static String zone() {
        String named = spark().sessionState().conf().sessionLocalTimeZone();
        return DateTimeUtils.getZoneId(named).toString();
    }

    /** The id of the running statement, "" for none; its parts have the same. */
    static String execution() {
        String found = local("spark.sql.execution.root.id");
        return found == null ? "" : found;
    }

    /** A property of this thread, null for none. */
    static String local(String key) {
        Option context = SparkContext$.MODULE$.getActive();
        return context.isDefined() ? ((SparkContext) context.get()).getLocalProperty(key) : null;
    }

    /** The txn that statements of this thread join, else of this session; null for none. */
    static String joined() {
        String found = local(TXN);
        if (found == null && SparkSession$.MODULE$.getActiveSession().isDefined()) {
            found = spark().conf().get("spark." + TXN, "");
        }
        return found == null || found.isEmpty() ? null : found;
    }
}
