package lakeledger;

import org.apache.spark.sql.catalyst.parser.ParseException;

/** An error of Spark's parser, with a form of the statement that the ledger knows. */
public final class HelpedParseException extends ParseException {
    private final ParseException first;
    private final String help;

    HelpedParseException(ParseException first, String help) {
        super(
            first.command(), first.start(), first.getCondition(),
            Scala.map(first.getMessageParameters()), first.getQueryContext());
        this.first = first;
        this.help = help;
        setStackTrace(first.getStackTrace());
    }

    public String getMessage() {
        return first == null ? super.getMessage() : first.getMessage() + "\n" + help;
    }
}
