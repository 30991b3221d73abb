package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;

/** What divides a table, between Spark and Python. */
final class Transforms {
    private Transforms() {}

    /** What divides a table, in the order of its definition. */
    static Transform[] of(JsonNode divided) {
        Transform[] all = new Transform[divided.size()];
        for (int i = 0; i < all.length; i++) {
            JsonNode each = Json.item(divided, i);
            String column = Identifiers.quoted(Json.text(each, "column"));
            String kind = Json.text(each, "kind");
            int width = Json.at(each, "width").asInt();
            Expression of = (Expression) Expressions.column(column);
            if (kind.isEmpty()) {
                all[i] = Expressions.identity(column);
            } else if (width == 0) {
                all[i] = Expressions.apply(kind, new Expression[] {of});
            } else {
                Expression count = (Expression) Expressions.literal(Integer.valueOf(width));
                all[i] = Expressions.apply(kind, new Expression[] {count, of});
            }
        }
        return all;
    }

    /** What a statement says: a column is its name, a function has its name and its arguments. */
    static ArrayNode toJson(Transform[] said) {
        ArrayNode told = Json.array();
        for (int i = 0; i < said.length; i++) {
            if (said[i].name().equals("identity")) {
                told.add(String.join(".", said[i].references()[0].fieldNames()));
                continue;
            }
            ObjectNode each = told.addObject();
            each.put("function", said[i].name()).put("said", said[i].describe());
            ArrayNode columns = each.putArray("columns");
            ArrayNode widths = each.putArray("widths");
            Expression[] arguments = said[i].arguments();
            for (int k = 0; k < arguments.length; k++) {
                if (arguments[k] instanceof NamedReference) {
                    columns.add(String.join(".", ((NamedReference) arguments[k]).fieldNames()));
                } else if (arguments[k] instanceof Literal) {
                    widths.add(String.valueOf(((Literal) arguments[k]).value()));
                } else {
                    widths.add(arguments[k].describe());
                }
            }
        }
        return told;
    }
}
