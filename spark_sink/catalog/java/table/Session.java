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
    private static final String SETTING = "spark." + TXN;
    /** How the key of a txn ends that BEGIN opened, and that no block of Python ends. */
    private static final String BEGUN = "/begun";

    private Session() {}

    static SparkSession spark() {
        return (SparkSession) org.apache.spark.sql.SparkSession.active();
    }

    /** What tells a session from the others of its application, "" for none. */
    static String id() {
        Option active = SparkSession$.MODULE$.getActiveSession();
        return active.isDefined() ? ((SparkSession) active.get()).sessionUUID() : "";
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

    /**
     * The txn that statements of this thread join, else of this session; null for none. A stream
     * has a copy of the session's settings, and its batches are no statements of the session.
     */
    static String joined() {
        String found = local(TXN);
        boolean isStream = local("sql.streaming.queryId") != null;
        if (found == null && !isStream && SparkSession$.MODULE$.getActiveSession().isDefined()) {
            found = spark().conf().get(SETTING, "");
        }
        return found == null || found.isEmpty() ? null : found;
    }

    /** Lets the statements of this session join a txn that BEGIN opened. */
    static void join(String key) {
        spark().conf().set(SETTING, key);
    }

    /** Lets them join it no more. */
    static void leave() {
        if (spark().conf().get(SETTING, "").endsWith(BEGUN)) spark().conf().unset(SETTING);
    }

    /** Lets the statements of this thread alone join a txn, null for none. */
    static void joinAlone(String key) {
        spark().sparkContext().setLocalProperty(TXN, key);
    }
}
