package lakeledger;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/** The options of reads and writes, for Python: names in small letters, times in microseconds. */
final class ReadOptions {
    private ReadOptions() {}

    /** Lets Python refuse an option that the given use does not obey. */
    static void check(Bridge catalog, String use, CaseInsensitiveStringMap options) {
        if (options.isEmpty()) return;
        ObjectNode asked = Questions.question();
        asked.put("use", use);
        asked.set("options", plain(options));
        catalog.ask("check_options", asked);
    }

    /** Refuses a version or a time for a stream, which Spark would call a bug of the catalog. */
    static void checkTravel(Bridge catalog, String option, String value) {
        StackTraceElement[] callers = Thread.currentThread().getStackTrace();
        for (int i = 0; i < callers.length; i++) {
            if (!callers[i].getClassName().endsWith(".DataStreamReader")) continue;
            check(catalog, "stream", new CaseInsensitiveStringMap(Collections.singletonMap(option, value)));
        }
    }

    /** The options as they were given. */
    static ObjectNode plain(CaseInsensitiveStringMap options) {
        ObjectNode told = Questions.question();
        for (Iterator i = options.asCaseSensitiveMap().entrySet().iterator(); i.hasNext();) {
            Map.Entry each = (Map.Entry) i.next();
            told.put((String) each.getKey(), (String) each.getValue());
        }
        return told;
    }

    static ObjectNode told(CaseInsensitiveStringMap options) {
        ObjectNode told = Questions.question();
        for (Iterator i = options.entrySet().iterator(); i.hasNext();) {
            Map.Entry each = (Map.Entry) i.next();
            String name = ((String) each.getKey()).toLowerCase(Locale.ROOT);
            String value = (String) each.getValue();
            told.put(name, name.endsWith("timestamp") ? micros(value) : value);
        }
        return told;
    }

    /** A time of SQL as microseconds since 1970; without a zone it is in the session's. */
    private static String micros(String value) {
        Literal literal = Literal.create(UTF8String.fromString(value), DataTypes.StringType);
        Option zone = Option.apply(Questions.zone());
        return String.valueOf(
            new Cast(literal, DataTypes.TimestampType, zone, EvalMode.ANSI()).eval(null));
    }
}
