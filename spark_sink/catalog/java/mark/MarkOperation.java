package lakeledger;

import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.SupportsDelta;

/**
 * An UPDATE, DELETE or MERGE that names the rows that go, by their files and their numbers there,
 * and writes new rows alone. Spark reads the table and the sources once.
 */
class MarkOperation extends RowOperation implements SupportsDelta {
    /** Before the name of a row id: a column in which Spark looks for the value of before. */
    private static final String BEFORE = "__original_row_id_";

    MarkOperation(LedgerTable table, RowLevelOperation.Command command) {
        super(table, command);
        checkFree(BEFORE + table.file);
        checkFree(BEFORE + table.row);
        checkFree(LedgerScan.GENERATED);
    }

    boolean marks() {
        return true;
    }

    public NamedReference[] rowId() {
        return new NamedReference[] {
            Identifiers.column(table.file), Identifiers.column(table.row)
        };
    }

    public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new MarkWrite(new LedgerWriteBuilder(table, info, verb(), this));
    }
}
