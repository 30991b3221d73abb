package lakeledger;

import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;

/** Names of tables and columns: in the ledger, where the parts have dots between, and in Spark. */
final class Identifiers {
    private Identifiers() {}

    static String name(Identifier identifier) {
        String space = String.join(".", identifier.namespace());
        return space.isEmpty() ? identifier.name() : space + "." + identifier.name();
    }

    static Identifier of(String name) {
        int dot = name.lastIndexOf('.');
        String[] space = dot < 0 ? new String[0] : name.substring(0, dot).split("\\.");
        return Identifier.of(space, name.substring(dot + 1));
    }

    static String quoted(String column) {
        return "`" + column.replace("`", "``") + "`";
    }

    static NamedReference column(String name) {
        return Expressions.column(quoted(name));
    }
}
