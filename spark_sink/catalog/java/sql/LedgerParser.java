package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedProcedure;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkSqlParser;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/**
 * Spark's parser, with the ledger's own words before it. Python reads a statement that begins with
 * such words, and names the procedure that does it. Every other statement, and one about a table of
 * another catalog, goes to the parser below as it is.
 *
 * The class extends Spark's parser, which answers what a later Spark asks besides. Scala's methods
 * name no exceptions, and Janino does not ask for them.
 */
public final class LedgerParser extends SparkSqlParser {
    /** What a statement of the ledger begins with: one word, or two. */
    private static final Set WORDS =
        new HashSet(
            Arrays.asList(
                new String[] {
                    "OPTIMIZE", "VACUUM", "RESTORE", "UNDROP", "COMMIT", "ROLLBACK", "BEGIN",
                    "START TRANSACTION", "DESCRIBE HISTORY", "DESC HISTORY", "DESCRIBE DETAIL",
                    "DESC DETAIL", "SHOW CONFLICTS", "EXPLAIN CONFLICT", "ALTER TABLE"
                }));

    private final SparkSession session;
    private final ParserInterface below;

    LedgerParser(SparkSession session, ParserInterface below) {
        this.session = session;
        this.below = below;
    }

    public LogicalPlan parsePlan(String given) throws ParseException {
        LogicalPlan own = own(given);
        if (own != null) return own;
        String text = withoutFunctions(given);
        try {
            return below.parsePlan(text);
        } catch (ParseException problem) {
            throw helped(text, problem);
        }
    }

    public LogicalPlan parsePlanWithParameters(String given, ParameterContext parameters)
        throws ParseException {
        LogicalPlan own = isOwn(given) ? own(SqlTokens.filled(given, parameters)) : null;
        if (own != null) return own;
        String text = withoutFunctions(given);
        try {
            return below.parsePlanWithParameters(text, parameters);
        } catch (ParseException problem) {
            throw helped(text, problem);
        }
    }

    private static boolean isOwn(String text) {
        String head = SqlTokens.head(text);
        int blank = head.indexOf(' ');
        String first = blank < 0 ? head : head.substring(0, blank);
        return WORDS.contains(first) || WORDS.contains(head);
    }

    /** The plan of a statement of the ledger, null for any other. */
    private LogicalPlan own(String text) {
        if (!isOwn(text)) return null;
        JsonNode found = ask("statement", text);
        if (found == null || found.isNull()) return null;
        List arguments = new ArrayList();
        Iterator names = ((ObjectNode) Json.at(found, "arguments")).fieldNames();
        while (names.hasNext()) {
            String name = (String) names.next();
            JsonNode value = Json.at(Json.at(found, "arguments"), name);
            arguments.add(new NamedArgumentExpression(name, literal(value)));
        }
        String[] procedure = {Json.text(found, "catalog"), "system", Json.text(found, "procedure")};
        return new Call(
            new UnresolvedProcedure(Scala.seq(Arrays.asList(procedure))), Scala.seq(arguments),
            true);
    }

    /** The statement with queries in the place of Delta's function table_changes. */
    private String withoutFunctions(String text) {
        if (!text.toLowerCase(Locale.ROOT).contains("table_changes")) return text;
        JsonNode found = ask("functions", text);
        return found == null ? text : found.asText();
    }

    private static Expression literal(JsonNode value) {
        if (value.isBoolean()) {
            return Literal.create(Boolean.valueOf(value.asBoolean()), DataTypes.BooleanType);
        }
        if (value.isIntegralNumber()) {
            return Literal.create(Long.valueOf(value.asLong()), DataTypes.LongType);
        }
        if (value.isNumber()) {
            return Literal.create(Double.valueOf(value.asDouble()), DataTypes.DoubleType);
        }
        return Literal.create(UTF8String.fromString(value.asText()), DataTypes.StringType);
    }

    /** The error of Spark, with the form that helps if Python knows one. */
    private ParseException helped(String text, ParseException problem) {
        JsonNode help = null;
        try {
            help = ask("hint", text);
        } catch (RuntimeException unread) {
            return problem;
        }
        if (help == null || help.isNull()) return problem;
        return new HelpedParseException(problem, help.asText());
    }

    /** The answer of Python about a statement, null if no ledger is attached. */
    private JsonNode ask(String word, String text) {
        if (!PythonCall.isAttached()) return null;
        ObjectNode asked = Names.place(session).put("text", text);
        ArrayNode tokens = SqlTokens.all(text);
        asked.set("tokens", tokens);
        asked.set("catalogs", Names.catalogs(session, tokens));
        return PythonCall.ask("", "", word, asked);
    }

    // What is no statement is Spark's alone.

    public Expression parseExpression(String text) throws ParseException {
        return below.parseExpression(text);
    }

    public TableIdentifier parseTableIdentifier(String text) throws ParseException {
        return below.parseTableIdentifier(text);
    }

    public FunctionIdentifier parseFunctionIdentifier(String text) throws ParseException {
        return below.parseFunctionIdentifier(text);
    }

    public Seq parseMultipartIdentifier(String text) throws ParseException {
        return below.parseMultipartIdentifier(text);
    }

    public LogicalPlan parseQuery(String text) throws ParseException {
        return below.parseQuery(text);
    }

    public StructType parseRoutineParam(String text) throws ParseException {
        return below.parseRoutineParam(text);
    }

    public StructType parseTableSchema(String text) throws ParseException {
        return below.parseTableSchema(text);
    }

    public DataType parseDataType(String text) throws ParseException {
        return below.parseDataType(text);
    }
}
