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
    LedgerScan scan;
    private final LedgerTable table;
    private final RowLevelOperation.Command command;

    RowOperation(LedgerTable table, RowLevelOperation.Command command) {
        this.table = table;
        this.command = command;
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
        return new NamedReference[] {Questions.column(LedgerTable.FILE)};
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new LedgerScanBuilder(table, options, this);
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        String verb = command.toString().toLowerCase(java.util.Locale.ROOT);
        return new LedgerWriteBuilder(table, info, verb, this);
    }
}
