package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
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
 * an overwrite are trees in the wire form; what it cannot say exactly is unknown.
 */
final class Conditions {
    private static final List COMPARED =
        Arrays.asList(new String[] {"=", "<>", "<", "<=", ">", ">=", "<=>"});
    private static final List PLAIN = Arrays.asList(
        new String[] {"string", "boolean", "tinyint", "smallint", "int", "bigint", "decimal"});
    private static final DateTimeFormatter WHOLE = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss");
    private static final DateTimeFormatter MICROS =
        DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS");

    private Conditions() {}

    /** The conjunction of some expressions, "" for none. */
    static String sql(Seq expressions) {
        StringBuilder said = new StringBuilder();
        for (Iterator i = Scala.list(expressions).iterator(); i.hasNext();) {
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
        ArrayNode all = Json.array();
        for (int i = 0; i < expressions.length; i++) all.add(tree(expressions[i]));
        return all;
    }

    private static ArrayNode tree(Expression expression) {
        if (expression instanceof NamedReference) {
            String[] parts = ((NamedReference) expression).fieldNames();
            return parts.length == 1 ? word("col").add(parts[0]) : unknown(expression);
        }
        if (expression instanceof Literal) return literal((Literal) expression);
        if (!(expression instanceof GeneralScalarExpression)) return unknown(expression);
        String name = ((GeneralScalarExpression) expression).name();
        ArrayNode args = trees(expression.children());
        if (COMPARED.contains(name)) return word(name).addAll(args);
        if (name.equals("IS_NULL")) return word("is_null").addAll(args);
        if (name.equals("IS_NOT_NULL")) return word("not").add(word("is_null").addAll(args));
        if (name.equals("NOT")) return word("not").addAll(args);
        if (name.equals("AND") || name.equals("OR")) return joined(name.toLowerCase(Locale.ROOT), args);
        if (name.equals("ALWAYS_TRUE")) return constant("true", "boolean");
        if (name.equals("ALWAYS_FALSE")) return constant("false", "boolean");
        if (name.equals("IN") && args.size() > 1) {
            ArrayNode in = word("in").add((JsonNode) args.remove(0));
            return in.add(args);
        }
        return unknown(expression);
    }

    /** AND or OR; one within another of its kind is part of it. */
    private static ArrayNode joined(String word, ArrayNode args) {
        ArrayNode all = word(word);
        for (int at = 0; at < args.size(); at++) {
            JsonNode each = (JsonNode) args.get(at);
            JsonNode first = (JsonNode) each.get(0);
            if (first.textValue().equals(word)) {
                for (int i = 1; i < each.size(); i++) all.add((JsonNode) each.get(i));
            } else {
                all.add(each);
            }
        }
        return all;
    }

    /** Spark has days and microseconds since 1970. */
    private static ArrayNode literal(Literal literal) {
        if (literal.value() == null) return constant(null, "void");
        String type = literal.dataType().sql().toLowerCase(Locale.ROOT), value = literal.value().toString();
        if (PLAIN.contains(type.replaceAll("\\(.*", ""))) return constant(value, type);
        if (type.equals("date")) {
            LocalDate day = LocalDate.ofEpochDay(Long.parseLong(value));
            return isWritten(day) ? constant(day.toString(), type) : unknown(literal);
        }
        if (!type.equals("timestamp") && !type.equals("timestamp_ntz")) return unknown(literal);
        long micros = Long.parseLong(value), seconds = Math.floorDiv(micros, 1000000L);
        LocalDateTime at = LocalDateTime.ofEpochSecond(
            seconds, (int) Math.floorMod(micros, 1000000L) * 1000, ZoneOffset.UTC);
        if (!isWritten(at.toLocalDate())) return unknown(literal);
        String zone = type.equals("timestamp") ? "Z" : "";
        return constant((at.getNano() == 0 ? WHOLE : MICROS).format(at) + zone, type);
    }

    /** Years that SQL writes with four digits. */
    private static boolean isWritten(LocalDate day) {
        return day.getYear() >= 1 && day.getYear() <= 9999;
    }

    private static ArrayNode constant(String text, String type) {
        return word("lit").add(text).add(type);
    }

    private static ArrayNode unknown(Expression expression) {
        return word("unknown").add(expression.toString());
    }

    private static ArrayNode word(String word) {
        return Json.array().add(word);
    }
}
