package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CheckInvariant;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.connector.expressions.GeneralScalarExpression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * Conditions for Python, as trees in the wire form. Those of a scan are expressions of Spark's
 * plan, those of a DELETE or an overwrite are predicates for sources. What the form cannot say
 * exactly is unknown, with the columns that it reads.
 */
final class Conditions {
    /** What is nested deeper is unknown: Jackson and Python follow so many levels and more. */
    private static final int LEVELS_MAX = 50;
    private static final int SHOWN_CHARS_MAX = 200;
    private static final List PLAIN = Arrays.asList(
        new String[] {"string", "boolean", "tinyint", "smallint", "int", "bigint", "decimal"});
    private static final DateTimeFormatter WHOLE =
        DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss");
    private static final DateTimeFormatter MICROS =
        DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS");

    /** The words of operators and functions by Spark's names: of expressions, and of predicates. */
    private static final Map WORDS = new HashMap();

    static {
        String[] names = {
            "EqualTo =", "EqualNullSafe <=>", "LessThan <", "LessThanOrEqual <=", "GreaterThan >",
            "GreaterThanOrEqual >=", "And and", "Or or", "Not not", "IsNull is_null", "Add +",
            "Subtract -", "Multiply *", "Divide /", "Remainder %", "UnaryMinus neg",
            "Abs call abs", "Coalesce call coalesce", "Year call year", "Month call month",
            "DayOfMonth call day", "Hour call hour", "Length call length", "Lower call lower",
            "Upper call upper", "Substring call substring",
            "= =", "<> <>", "< <", "<= <=", "> >", ">= >=", "<=> <=>", "AND and", "OR or",
            "NOT not", "IS_NULL is_null"
        };
        for (int i = 0; i < names.length; i++) {
            String[] parts = names[i].split(" ");
            WORDS.put(parts[0], Arrays.asList(parts).subList(1, parts.length));
        }
    }

    private Conditions() {}

    static ArrayNode of(Predicate[] predicates) {
        ArrayNode all = Json.array();
        for (int i = 0; i < predicates.length; i++) all.add(tree(predicates[i], LEVELS_MAX));
        return all;
    }

    static ArrayNode of(Seq filters) {
        ArrayNode all = Json.array();
        for (Object item : Scala.list(filters)) {
            Expression each = (Expression) item;
            // A CHECK of the table that gets the rows: it refuses a row, and leaves none out.
            if (!each.find(new IsCheck()).isDefined()) all.add(tree(each, LEVELS_MAX));
        }
        return all;
    }

    static class IsCheck extends AbstractFunction1 {
        public Object apply(Object given) {
            return Boolean.valueOf(given instanceof CheckInvariant);
        }
    }

    /** Columns without the name of their table. */
    static class Unqualified extends AbstractPartialFunction {
        public boolean isDefinedAt(Object given) {
            return given instanceof AttributeReference;
        }

        public Object applyOrElse(Object given, Function1 otherwise) {
            if (!isDefinedAt(given)) return otherwise.apply(given);
            return ((AttributeReference) given).withQualifier(Scala.seq(new ArrayList()));
        }
    }

    /** The tree of an expression or a predicate, or of a part of one. */
    private static ArrayNode tree(Object part, int levels) {
        if (levels == 0) return unknown(part);
        if (part instanceof NamedReference) {
            String[] names = ((NamedReference) part).fieldNames();
            return names.length == 1 ? word("col").add(names[0]) : unknown(part);
        }
        if (part instanceof AttributeReference) {
            return word("col").add(((AttributeReference) part).name());
        }
        if (part instanceof org.apache.spark.sql.connector.expressions.Literal) {
            org.apache.spark.sql.connector.expressions.Literal literal =
                (org.apache.spark.sql.connector.expressions.Literal) part;
            return literal(part, literal.value(), literal.dataType());
        }
        if (part instanceof Literal) {
            return literal(part, ((Literal) part).value(), ((Literal) part).dataType());
        }
        String name = name(part);
        if (name.equals("ALWAYS_TRUE")) return constant("true", "boolean");
        if (name.equals("ALWAYS_FALSE")) return constant("false", "boolean");
        ArrayNode inner = Json.array();
        for (Object item : children(part)) inner.add(tree(item, levels - 1));
        if (name.equals("IsNotNull") || name.equals("IS_NOT_NULL")) {
            return word("not").add(word("is_null").addAll(inner));
        }
        if ((name.equals("In") || name.equals("IN")) && inner.size() > 1) {
            ArrayNode in = word("in").add((JsonNode) inner.remove(0));
            return in.add(inner);
        }
        if (part instanceof InSet) return word("in").addAll(inner).add(items((InSet) part));
        if (part instanceof Cast && !((Cast) part).evalMode().equals(EvalMode.TRY())) {
            return word("cast").addAll(inner).add(type(((Cast) part).dataType()));
        }
        if (part instanceof Like && ((Like) part).escapeChar() == '\\') {
            return word("like").addAll(inner);
        }
        if (name.equals("StartsWith") || name.equals("EndsWith") || name.equals("Contains")) {
            return like(part, name, inner);
        }
        List words = (List) WORDS.get(name);
        if (words == null) return unknown(part);
        ArrayNode all = word((String) words.get(0));
        if (words.size() > 1) return all.add((String) words.get(1)).addAll(inner);
        boolean joins = words.get(0).equals("and") || words.get(0).equals("or");
        return joins ? joined(all, inner) : all.addAll(inner);
    }

    private static String name(Object part) {
        if (part instanceof Expression) return part.getClass().getSimpleName();
        if (!(part instanceof GeneralScalarExpression)) return "";
        return ((GeneralScalarExpression) part).name();
    }

    private static List children(Object part) {
        if (part instanceof Expression) return Scala.list(((Expression) part).children());
        return Arrays.asList(
            ((org.apache.spark.sql.connector.expressions.Expression) part).children());
    }

    /** AND or OR; one within another of its kind is part of it. */
    private static ArrayNode joined(ArrayNode all, ArrayNode inner) {
        for (int at = 0; at < inner.size(); at++) {
            JsonNode each = Json.item(inner, at);
            if (!Json.item(each, 0).equals(Json.item(all, 0))) all.add(each);
            else for (int i = 1; i < each.size(); i++) all.add(Json.item(each, i));
        }
        return all;
    }

    private static ArrayNode items(InSet in) {
        TreeMap found = new TreeMap();
        for (Object item : Scala.list(in.hset())) {
            ArrayNode literal = literal(in, item, in.child().dataType());
            found.put(literal.toString(), literal);
        }
        return Json.array().addAll(found.values());
    }

    /** What the optimizer made of LIKE; not of a text with signs of its own for patterns. */
    private static ArrayNode like(Object part, String name, ArrayNode inner) {
        Object right = children(part).get(1);
        Object value = right instanceof Literal ? ((Literal) right).value() : null;
        if (!(value instanceof UTF8String) || value.toString().matches("(?s).*[%_\\\\].*")) {
            return unknown(part);
        }
        String before = name.equals("StartsWith") ? "" : "%";
        String after = name.equals("EndsWith") ? "" : "%";
        ArrayNode pattern = constant(before + value + after, "string");
        return word("like").add(Json.item(inner, 0)).add(pattern);
    }

    /** Spark has days and microseconds since 1970. */
    private static ArrayNode literal(Object part, Object value, DataType kind) {
        if (value == null) return constant(null, "void");
        String type = type(kind), text = value.toString();
        // A DELETE of whole files needs a value that is exactly that of a partition.
        boolean isPlain = PLAIN.contains(type.replaceAll("\\(.*", ""));
        boolean isDouble = type.equals("double") && part instanceof Expression;
        if (isPlain || isDouble) return constant(text, type);
        if (type.equals("date")) {
            LocalDate day = LocalDate.ofEpochDay(Long.parseLong(text));
            return isWritten(day) ? constant(day.toString(), type) : unknown(part);
        }
        if (!type.equals("timestamp") && !type.equals("timestamp_ntz")) return unknown(part);
        long micros = Long.parseLong(text), seconds = Math.floorDiv(micros, 1000000L);
        LocalDateTime at = LocalDateTime.ofEpochSecond(
            seconds, (int) Math.floorMod(micros, 1000000L) * 1000, ZoneOffset.UTC);
        if (!isWritten(at.toLocalDate())) return unknown(part);
        String zone = type.equals("timestamp") ? "Z" : "";
        return constant((at.getNano() == 0 ? WHOLE : MICROS).format(at) + zone, type);
    }

    private static String type(DataType type) {
        return type.sql().toLowerCase(Locale.ROOT);
    }

    /** Years that SQL writes with four digits. */
    private static boolean isWritten(LocalDate day) {
        return day.getYear() >= 1 && day.getYear() <= 9999;
    }

    private static ArrayNode constant(String text, String type) {
        return word("lit").add(text).add(type);
    }

    private static ArrayNode unknown(Object part) {
        boolean isExpression = part instanceof Expression;
        if (isExpression) part = ((Expression) part).transform(new Unqualified());
        String said = isExpression ? ((Expression) part).sql() : part.toString();
        boolean isLong = said.length() > SHOWN_CHARS_MAX;
        String shown = isLong ? said.substring(0, SHOWN_CHARS_MAX - 1) + "\u2026" : said;
        ArrayNode all = word("unknown").add(shown);
        if (!isExpression) return all;
        ArrayNode names = all.addArray();
        for (Object item : Scala.list(((Expression) part).references().toSeq())) {
            names.add(((NamedExpression) item).name());
        }
        return all;
    }

    private static ArrayNode word(String word) {
        return Json.array().add(word);
    }
}
