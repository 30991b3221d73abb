package lakeledger;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CheckInvariant;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.PrettyAttribute;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * Conditions for Python. Those of a scan are SQL in the session's time zone. Those of a DELETE or
 * an overwrite are trees, {column}, {type, value} or {op, args}.
 */
final class Conditions {
    private Conditions() {}

    /** The conjunction of some expressions, "" for none. */
    static String sql(Seq expressions) {
        StringBuilder said = new StringBuilder();
        for (Iterator i = Questions.list(expressions).iterator(); i.hasNext();) {
            org.apache.spark.sql.catalyst.expressions.Expression each =
                (org.apache.spark.sql.catalyst.expressions.Expression) i.next();
            // A CHECK of the table that gets the rows: it refuses a row, and leaves none out.
            if (each.find(new IsCheck()).isDefined()) continue;
            if (said.length() > 0) said.append(" AND ");
            said.append("(");
            said.append(
                ((org.apache.spark.sql.catalyst.expressions.Expression) each.transform(new Plain())).sql());
            said.append(")");
        }
        return said.toString();
    }

    static class IsCheck extends AbstractFunction1 {
        public Object apply(Object given) {
            return Boolean.valueOf(given instanceof CheckInvariant);
        }
    }

    /**
     * Takes the qualifiers off columns, quotes their names, and says LIKE again for what the
     * optimizer made of it.
     */
    static class Plain extends AbstractPartialFunction {
        public boolean isDefinedAt(Object given) {
            return given instanceof AttributeReference
                || given instanceof StartsWith
                || given instanceof EndsWith
                || given instanceof Contains;
        }

        public Object applyOrElse(Object given, Function1 otherwise) {
            if (given instanceof AttributeReference) {
                AttributeReference found = (AttributeReference) given;
                return new PrettyAttribute(quoted(found.name()), found.dataType());
            }
            if (given instanceof StartsWith) {
                StartsWith found = (StartsWith) given;
                return like(given, found.left(), found.right(), "", "%");
            }
            if (given instanceof EndsWith) {
                EndsWith found = (EndsWith) given;
                return like(given, found.left(), found.right(), "%", "");
            }
            if (given instanceof Contains) {
                Contains found = (Contains) given;
                return like(given, found.left(), found.right(), "%", "%");
            }
            return otherwise.apply(given);
        }

        /** Spark itself leaves names such as null and 1e5 without quotes. */
        private static String quoted(String name) {
            return "`" + name.replace("`", "``") + "`";
        }

        /** A text with signs of its own for patterns stays as it is. */
        private static Object like(
            Object given,
            org.apache.spark.sql.catalyst.expressions.Expression left,
            org.apache.spark.sql.catalyst.expressions.Expression right,
            String before,
            String after) {
            if (!(right instanceof org.apache.spark.sql.catalyst.expressions.Literal)) return given;
            Object value = ((org.apache.spark.sql.catalyst.expressions.Literal) right).value();
            if (!(value instanceof UTF8String)) return given;
            String text = value.toString();
            if (text.contains("%") || text.contains("_") || text.contains("\\")) return given;
            UTF8String pattern = UTF8String.fromString(before + text + after);
            return new Like(
                left,
                org.apache.spark.sql.catalyst.expressions.Literal.create(pattern, DataTypes.StringType),
                '\\');
        }
    }

    static ArrayNode trees(Expression[] expressions) {
        ArrayNode all = Questions.JSON.createArrayNode();
        for (int i = 0; i < expressions.length; i++) tree(all.addObject(), expressions[i]);
        return all;
    }

    private static void tree(ObjectNode node, Expression expression) {
        if (expression instanceof NamedReference) {
            ArrayNode names = node.putArray("column");
            String[] parts = ((NamedReference) expression).fieldNames();
            for (int i = 0; i < parts.length; i++) names.add(parts[i]);
        } else if (expression instanceof Literal) {
            Literal literal = (Literal) expression;
            node.put("type", literal.dataType().sql());
            if (literal.value() == null) node.putNull("value");
            else node.put("value", literal.value().toString());
        } else {
            boolean known = expression instanceof GeneralScalarExpression;
            node.put("op", known ? ((GeneralScalarExpression) expression).name() : "?");
            node.set("args", trees(expression.children()));
        }
    }
}
