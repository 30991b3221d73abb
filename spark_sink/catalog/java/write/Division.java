package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Empty2Null;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/**
 * How the files of a write are divided: by columns, whose values folders have, and by transforms of
 * columns, whose results rows get as further columns on their way to the files.
 */
final class Division {
    /** The columns of the rows, and one for the results of each transform. */
    final List rows = new ArrayList();
    /** The columns that files have. */
    final List stored = new ArrayList();
    /** The columns by which files are divided, in the order of the table. */
    final List partitions = new ArrayList();
    /** Whether each of these has the results of a transform. */
    final boolean[] derived;
    private final Attribute[] given;
    private final Expression[] values;
    private boolean changes;

    Division(JsonNode divided, Attribute[] given) {
        this.given = given;
        this.derived = new boolean[divided.size()];
        rows.addAll(Arrays.asList(given));
        stored.addAll(Arrays.asList(given));
        List made = new ArrayList(Arrays.asList(given));
        for (int i = 0; i < derived.length; i++) {
            if (!kind(divided, i).isEmpty()) continue;
            int at = place(Json.text(Json.item(divided, i), "column"));
            stored.remove(given[at]);
            // An empty text is NULL, as in Hive: one task would create a file of one folder twice.
            if (!(given[at].dataType() instanceof StringType)) continue;
            made.set(at, new Empty2Null((Expression) given[at]));
            changes = true;
        }
        for (int i = 0; i < derived.length; i++) {
            JsonNode each = Json.item(divided, i);
            int at = place(Json.text(each, "column"));
            derived[i] = !kind(divided, i).isEmpty();
            if (derived[i]) {
                PartitionFunction function = new PartitionFunction(
                    kind(divided, i), Json.at(each, "width").asInt(), given[at].dataType());
                List of = Collections.singletonList(made.get(at));
                made.add(new ApplyFunctionExpression(function, Scala.seq(of)));
                rows.add(result(i));
                partitions.add(rows.get(rows.size() - 1));
                changes = true;
            } else {
                partitions.add(given[at]);
            }
        }
        this.values = (Expression[]) made.toArray(new Expression[0]);
    }

    private static String kind(JsonNode divided, int at) {
        return Json.text(Json.item(divided, at), "kind");
    }

    private int place(String column) {
        for (int i = 0; i < given.length; i++) {
            if (given[i].name().equals(column)) return i;
        }
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            "each row must have a value of " + column + ", by which files are divided");
    }

    /** A column of texts under a name that no column of rows is found by: columns have ids here. */
    private static Attribute result(int at) {
        StructType one = new StructType().add("result " + at, DataTypes.StringType, true);
        return (Attribute) DataTypeUtils.toAttributes(one).head();
    }

    /** Whether a file is told with the results of transforms. */
    boolean hasResults() {
        for (int i = 0; i < derived.length; i++) {
            if (derived[i]) return true;
        }
        return false;
    }

    /** The writers of rows as they are given. */
    DataWriterFactory over(DataWriterFactory inner) {
        return changes ? (DataWriterFactory) new Projected(inner, given, values) : inner;
    }
}
