package lakeledger;

import com.fasterxml.jackson.databind.node.ObjectNode;
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

/** The options of a read, for Python: names in small letters, times in microseconds. */
final class ReadOptions {
    private ReadOptions() {}

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
