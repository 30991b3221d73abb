package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Enumeration;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Asks Python. A question is a word and a JSON object; its answer is JSON too. The module
 * spark_sink.catalog.questions lists all questions.
 *
 * Janino compiles these sources: it has no lambdas, and it erases generics, hence the casts. It
 * picks a wrong overload of Jackson's path() and get(int), hence at() and item().
 */
public final class Questions {
    public static final String TXN = "lakeledger.txn";
    static final ObjectMapper JSON = new ObjectMapper();
    private static volatile BiFunction backend;

    private Questions() {}

    public static void setBackend(BiFunction function) {
        backend = function;
    }

    static ObjectNode question() {
        return JSON.createObjectNode();
    }

    static JsonNode at(JsonNode node, String key) {
        return (JsonNode) node.path(key);
    }

    static JsonNode item(JsonNode node, int place) {
        return (JsonNode) node.get(place);
    }

    static String text(JsonNode node, String key) {
        return at(node, key).asText();
    }

    static String[] texts(JsonNode list) {
        String[] found = new String[list.size()];
        for (int i = 0; i < found.length; i++) found[i] = item(list, i).asText();
        return found;
    }

    static Map map(JsonNode node) {
        return node.isObject() ? (Map) JSON.convertValue(node, HashMap.class) : new HashMap();
    }

    static scala.collection.immutable.Map scalaMap(Map map) {
        return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(map));
    }

    static Seq seq(List list) {
        return CollectionConverters.asScala(list).toSeq();
    }

    static List list(scala.collection.Iterable items) {
        return new ArrayList(CollectionConverters.asJavaCollection(items));
    }

    static org.apache.spark.sql.classic.SparkSession spark() {
        return (org.apache.spark.sql.classic.SparkSession) SparkSession.active();
    }

    /** The name of the session's time zone by its rules: Spark takes PST for one, too. */
    static String zone() {
        String named = spark().sessionState().conf().sessionLocalTimeZone();
        return DateTimeUtils.getZoneId(named).toString();
    }

    static NamedReference column(String name) {
        return Expressions.column("`" + name.replace("`", "``") + "`");
    }

    /** The name of a table in the ledger: the parts of its namespace and its own, with dots. */
    static String name(Identifier identifier) {
        String space = String.join(".", identifier.namespace());
        return space.isEmpty() ? identifier.name() : space + "." + identifier.name();
    }

    static Identifier identifier(String name) {
        int dot = name.lastIndexOf('.');
        String[] space = dot < 0 ? new String[0] : name.substring(0, dot).split("\\.");
        return Identifier.of(space, name.substring(dot + 1));
    }

    static ObjectNode about(Identifier identifier) {
        ObjectNode asked = question();
        asked.put("table", name(identifier));
        return asked;
    }

    /** The id of the running statement, "" for none; its parts have the same. */
    static String execution() {
        return local("spark.sql.execution.root.id");
    }

    /** A property of this thread, "" for none. */
    static String local(String key) {
        Option context = SparkContext$.MODULE$.getActive();
        if (!context.isDefined()) return "";
        String found = ((SparkContext) context.get()).getLocalProperty(key);
        return found == null ? "" : found;
    }

    /** The txn that statements of this thread join, else of this session; null for none. */
    static String joined() {
        Option context = SparkContext$.MODULE$.getActive();
        Object of = context.isDefined() ? ((SparkContext) context.get()).getLocalProperty(TXN) : null;
        if (of == null && SparkSession$.MODULE$.getActiveSession().isDefined()) {
            of = spark().conf().get("spark." + TXN, "");
        }
        return of == null || ((String) of).isEmpty() ? null : (String) of;
    }

    /** The answer of Python; throws what Spark knows, else Refused. */
    static JsonNode ask(String catalog, String txn, String word, ObjectNode asked) {
        try {
            asked.put("catalog", catalog);
            asked.put("txn", txn);
            String joined = joined();
            if (joined != null) asked.put("joined", joined);
            if (backend == null) {
                throw new Refused(
                    "LEDGER_NOT_ATTACHED",
                    "no Python answers for catalog " + catalog
                        + " in this driver: call spark_sink.attach(spark) first");
            }
            String answer = (String) backend.apply(word, JSON.writeValueAsString(asked));
            JsonNode found = (JsonNode) JSON.readTree(answer);
            if (found.has("error")) fail(text(found, "error"), text(found, "message"));
            return at(found, "answer");
        } catch (Throwable problem) {
            Platform.throwException(problem);
            return null;
        }
    }

    private static void fail(String kind, String said) throws Throwable {
        if (kind.equals("NoSuchTable")) throw new NoSuchTableException(identifier(said));
        if (kind.equals("NoSuchNamespace")) throw new NoSuchNamespaceException(said.split("\\."));
        if (kind.equals("TableExists")) throw new TableAlreadyExistsException(identifier(said));
        throw new Refused(kind, said);
    }

    /** The value of a text in a column: a cast of ANSI SQL in UTC. */
    static Object value(JsonNode said, DataType type) {
        return cast(said, type, "UTC", EvalMode.ANSI());
    }

    /** The value of a partition: a text without a zone is in the session's; NULL if it is unfit. */
    static Object tried(JsonNode said, DataType type) {
        return cast(said, type, zone(), EvalMode.TRY());
    }

    private static Object cast(JsonNode said, DataType type, String zone, Enumeration.Value mode) {
        if (said.isNull()) return null;
        UTF8String text = UTF8String.fromString(said.asText());
        if (type instanceof StringType) return text;
        Literal literal = Literal.create(text, DataTypes.StringType);
        return new Cast(literal, type, Option.apply(zone), mode).eval(null);
    }
}
