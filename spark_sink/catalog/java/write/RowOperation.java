package lakeledger;

import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** An UPDATE, DELETE or MERGE, which writes files again or marks their rows. */
abstract class RowOperation implements RowLevelOperation, RowLevelOperationBuilder {
    /** Columns that Spark adds to the rows of such a statement, and finds again by their names. */
    private static final String[] OWN_NAMES = {
        "__row_operation", "__row_from_source", "__row_from_target", "__row_id"
    };

    LedgerScan scan;
    final LedgerTable table;
    private SourceReads sources;
    private final RowLevelOperation.Command command;

    RowOperation(LedgerTable table, RowLevelOperation.Command command) {
        this.table = table;
        this.command = command;
        for (int i = 0; i < OWN_NAMES.length; i++) checkFree(OWN_NAMES[i]);
    }

    /** Refuses a table with a column that Spark would take for one of its own. */
    final void checkFree(String name) {
        for (int i = 0; i < table.schema.length(); i++) {
            String column = table.schema.fields()[i].name();
            if (!column.equalsIgnoreCase(name)) continue;
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                description() + " is not possible: column " + column + " has a name that Spark needs "
                    + "for itself in this statement. Rename the column, or use the statement of a "
                    + "transaction in Python");
        }
    }

    /** Whether it marks rows, in place of writing all rows of a file again. */
    abstract boolean marks();

    /** Whether it marks all rows that it matches; a MERGE may match rows and leave them. */
    final boolean marksWhatItReads() {
        return marks() && command != RowLevelOperation.Command.MERGE;
    }

    public RowLevelOperation build() {
        return this;
    }

    public RowLevelOperation.Command command() {
        return command;
    }

    /** The statement, as Python knows it. */
    final String verb() {
        return command.toString().toLowerCase(java.util.Locale.ROOT);
    }

    public String description() {
        return command + " " + table.name();
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new LedgerScanBuilder(table, options, this);
    }

    /** Notes the sources before any is read. */
    void begin() {
        Statement.checkAssigned(table);
        sources = Statement.sources();
    }

    /** Whether a source that is read again has the same rows. */
    final boolean repeats() {
        return sources.repeat;
    }

    /** Refuses to commit what read other files the second time. */
    void end() {
        if (!sources.repeat) return;
        sources.checkFiles(Session.spark().sessionState().newHadoopConf(), table.name());
    }
}
