package lakeledger;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The options of reads and writes, for Python: names in small letters, times in microseconds. */
final class ReadOptions {
    private ReadOptions() {}

    /** Lets Python refuse an option that the given use does not obey. */
    static void check(
        LedgerCatalog catalog, String use, CaseInsensitiveStringMap options, String table) {
        if (options.isEmpty()) return;
        ObjectNode asked = Json.object().put("use", use).put("table", table);
        asked.set("options", asGiven(options));
        catalog.ask("check_options", asked);
    }

    /** Refuses a version or a time for a stream, which Spark would call a bug of the catalog. */
    static void checkTravel(LedgerCatalog catalog, String option, String value) {
        StackTraceElement[] callers = Thread.currentThread().getStackTrace();
        for (int i = 0; i < callers.length; i++) {
            if (!callers[i].getClassName().endsWith(".DataStreamReader")) continue;
            Map given = Collections.singletonMap(option, value);
            check(catalog, "stream", new CaseInsensitiveStringMap(given), "");
        }
    }

    /** The options as they were given. */
    static ObjectNode asGiven(CaseInsensitiveStringMap options) {
        return (ObjectNode) Json.tree(options.asCaseSensitiveMap());
    }

    static ObjectNode toJson(CaseInsensitiveStringMap options) {
        ObjectNode told = Json.object();
        for (Object item : options.entrySet()) {
            Map.Entry each = (Map.Entry) item;
            String name = ((String) each.getKey()).toLowerCase(Locale.ROOT);
            String value = (String) each.getValue();
            told.put(name, name.endsWith("timestamp") ? micros(value) : value);
        }
        return told;
    }

    /** A time of SQL as microseconds since 1970; without a zone it is in the session's. */
    private static String micros(String value) {
        return String.valueOf(
            Columns.cast(value, DataTypes.TimestampType, Session.zone(), EvalMode.ANSI()));
    }
}
