package lakeledger;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CodePointCharStream;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.NamedParameterContext;
import org.apache.spark.sql.catalyst.parser.ParameterContext;
import org.apache.spark.sql.catalyst.parser.ParserUtils$;
import org.apache.spark.sql.catalyst.parser.PositionalParameterContext;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;
import scala.jdk.javaapi.CollectionConverters;

/** The tokens of a statement, by Spark's own lexer: comments and quotes are what Spark says. */
final class SqlTokens {
    private final SqlBaseLexer lexer;

    SqlTokens(String text) {
        CodePointCharStream letters = (CodePointCharStream) CharStreams.fromString(text);
        lexer = new SqlBaseLexer(new UpperCaseCharStream(letters));
        lexer.removeErrorListeners();
    }

    /** The next token that is neither blank nor comment; the last one is of type EOF. */
    private Token next() {
        Token found = lexer.nextToken();
        while (found.getType() != Token.EOF && found.getChannel() != Token.DEFAULT_CHANNEL) {
            found = lexer.nextToken();
        }
        return found;
    }

    /** The first word in capitals, with the second one if there is one. */
    static String head(String text) {
        SqlTokens tokens = new SqlTokens(text);
        Token first = tokens.next();
        if (first.getType() == Token.EOF) return "";
        Token second = tokens.next();
        String said = first.getText();
        if (second.getType() != Token.EOF) said = said + " " + second.getText();
        return said.toUpperCase(Locale.ROOT);
    }

    /** A statement with values in the place of its parameters; Spark fills only its own ones. */
    static String filled(String text, ParameterContext parameters) {
        Map named = new HashMap();
        Iterator others = Collections.emptyIterator();
        if (parameters instanceof NamedParameterContext) {
            named = CollectionConverters.asJava(((NamedParameterContext) parameters).params());
        } else if (parameters instanceof PositionalParameterContext) {
            others = Scala.list(((PositionalParameterContext) parameters).params()).iterator();
        }
        StringBuilder made = new StringBuilder();
        int done = 0;
        SqlTokens tokens = new SqlTokens(text);
        for (Token each = tokens.next(); each.getType() != Token.EOF; each = tokens.next()) {
            int start = text.offsetByCodePoints(0, each.getStartIndex());
            Object value = null;
            if (each.getText().equals("?") && others.hasNext()) value = others.next();
            if (each.getText().equals(":")) {
                each = tokens.next();
                value = named.get(each.getText());
            }
            if (value == null || each.getType() == Token.EOF) continue;
            made.append(text, done, start).append(((Expression) value).sql());
            done = text.offsetByCodePoints(0, each.getStopIndex() + 1);
        }
        return made.append(text.substring(done)).toString();
    }

    /** All tokens: what each is, its text without quotes, and its place in the statement. */
    static ArrayNode all(String text) {
        SqlTokens tokens = new SqlTokens(text);
        ArrayNode told = Json.array();
        for (Token each = tokens.next(); each.getType() != Token.EOF; each = tokens.next()) {
            ObjectNode found = told.addObject();
            String said = each.getText();
            char first = said.charAt(0);
            String kind = "mark";
            if (each.getType() == SqlBaseLexer.BACKQUOTED_IDENTIFIER) {
                kind = "name";
                said = said.substring(1, said.length() - 1).replace("``", "`");
            } else if (each.getType() == SqlBaseLexer.STRING_LITERAL
                || each.getType() == SqlBaseLexer.DOUBLEQUOTED_STRING) {
                kind = "string";
                said = ParserUtils$.MODULE$.string(each);
            } else if (Character.isDigit(first) && each.getType() != SqlBaseLexer.IDENTIFIER) {
                kind = "number";
            } else if (Character.isLetterOrDigit(first) || first == '_') {
                kind = "word";
            }
            found.put("kind", kind).put("text", said);
            found.put("start", each.getStartIndex()).put("stop", each.getStopIndex() + 1);
        }
        return told;
    }
}
