package lakeledger;

import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.WriteBuilder;

/**
 * An UPDATE, DELETE or MERGE that writes the files again that have matching rows. Spark looks for
 * these files first, and filters the scan by the metadata column of paths.
 */
class RewriteOperation extends RowOperation {
    RewriteOperation(LedgerTable table, RowLevelOperation.Command command) {
        super(table, command);
    }

    boolean marks() {
        return false;
    }

    public NamedReference[] requiredMetadataAttributes() {
        return new NamedReference[] {Identifiers.column(table.file)};
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new LedgerWriteBuilder(table, info, verb(), this);
    }

    /**
     * Spark writes an UPDATE as the rows that fulfil its condition and those that do not, and asks
     * the queries of a condition for each part.
     */
    void begin() {
        super.begin();
        boolean isTwice = command() == RowLevelOperation.Command.UPDATE && Statement.asks();
        if (isTwice && !repeats()) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "the condition of an UPDATE must ask for rows that are the same when they are read "
                    + "twice, got a query that may give others: keep its rows with "
                    + "localCheckpoint() before, or use MERGE");
        }
    }
}
