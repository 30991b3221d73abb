package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.unsafe.Platform;

/**
 * Asks Python. A question is a word and a JSON object; its answer is JSON too. The module
 * spark_sink.catalog.questions lists all questions.
 */
public final class PythonCall {
    private static volatile BiFunction backend;

    private PythonCall() {}

    public static void setBackend(BiFunction function) {
        backend = function;
    }

    /** Whether there is Python to ask: executors of other processes have none. */
    static boolean isAttached() {
        return backend != null;
    }

    /** The answer of Python; throws what Spark knows, else Refused. */
    static JsonNode ask(String catalog, String txn, String word, ObjectNode asked) {
        try {
            asked.put("catalog", catalog).put("txn", txn);
            String joined = Session.joined();
            if (joined != null) asked.put("joined", joined);
            asked.put("session", Session.id());
            if (backend == null) {
                throw new Refused(
                    "LEDGER_NOT_ATTACHED",
                    "no Python answers for catalog " + catalog
                        + " in this driver: call spark_sink.attach(spark) first");
            }
            JsonNode found = Json.read((String) backend.apply(word, Json.text(asked)));
            if (found.has("error")) fail(Json.text(found, "error"), Json.text(found, "message"));
            return Json.at(found, "answer");
        } catch (Throwable problem) {
            Platform.throwException(problem);
            return null;
        }
    }

    private static void fail(String kind, String said) throws Throwable {
        if (kind.equals("NoSuchTable")) throw new NoSuchTableException(Identifiers.of(said));
        if (kind.equals("NoSuchNamespace")) throw new NoSuchNamespaceException(said.split("\\."));
        if (kind.equals("TableExists")) throw new TableAlreadyExistsException(Identifiers.of(said));
        if (kind.equals("NoSuchView")) throw new NoSuchViewException(Identifiers.of(said));
        if (kind.equals("ViewExists")) throw new ViewAlreadyExistsException(Identifiers.of(said));
        throw new Refused(kind, said);
    }
}
