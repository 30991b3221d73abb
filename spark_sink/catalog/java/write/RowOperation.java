package lakeledger;

import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * An UPDATE, DELETE or MERGE: it writes the files again that have matching rows. Spark looks for
 * these files first, and filters the scan by the metadata column of paths.
 */
class RowOperation implements RowLevelOperation, RowLevelOperationBuilder {
    /** Columns that Spark adds to the rows of such a statement, and finds again by their names. */
    private static final String[] OWN_NAMES = {
        "__row_operation", "__row_from_source", "__row_from_target", "__row_id"
    };

    LedgerScan scan;
    private SourceReads sources;
    private final LedgerTable table;
    private final RowLevelOperation.Command command;

    RowOperation(LedgerTable table, RowLevelOperation.Command command) {
        this.table = table;
        this.command = command;
        for (int i = 0; i < table.schema.length(); i++) checkFree(table.schema.fields()[i].name());
    }

    /** Refuses a table with a column that Spark would take for one of its own, and overwrite. */
    private void checkFree(String column) {
        for (int i = 0; i < OWN_NAMES.length; i++) {
            if (!column.equalsIgnoreCase(OWN_NAMES[i])) continue;
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                description() + " is not possible: column " + column + " has a name that Spark needs "
                    + "for itself in this statement. Rename the column, or use the statement of a "
                    + "transaction in Python");
        }
    }

    public RowLevelOperation build() {
        return this;
    }

    public RowLevelOperation.Command command() {
        return command;
    }

    public String description() {
        return command + " " + table.name();
    }

    public NamedReference[] requiredMetadataAttributes() {
        return new NamedReference[] {Identifiers.column(table.file)};
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new LedgerScanBuilder(table, options, this);
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        String verb = command.toString().toLowerCase(java.util.Locale.ROOT);
        return new LedgerWriteBuilder(table, info, verb, this);
    }

    /**
     * Notes the sources before any is read. Spark writes an UPDATE as the rows that fulfil its
     * condition and those that do not, and asks the queries of a condition for each part.
     */
    void begin() {
        Statement.checkAssigned(table);
        sources = Statement.sources();
        boolean isTwice = command == RowLevelOperation.Command.UPDATE && Statement.asks();
        if (isTwice && !sources.repeat) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "the condition of an UPDATE must ask for rows that are the same when they are read "
                    + "twice, got a query that may give others: keep its rows with "
                    + "localCheckpoint() before, or use MERGE");
        }
    }

    /** Refuses to commit what read other files the second time. */
    void end() {
        if (!sources.repeat) return;
        sources.checkFiles(Session.spark().sessionState().newHadoopConf(), table.name());
    }
}
