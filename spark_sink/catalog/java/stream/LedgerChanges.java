package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;

/**
 * The rows that the commits of a table changed. The type of a change, its version and its time are
 * constants of a file's rows. It takes part in writes only to refuse them by name.
 */
class LedgerChanges extends FileRelation implements SupportsWrite, SupportsRowLevelOperations {
    LedgerChanges(LedgerCatalog catalog, JsonNode answer) {
        super(catalog, answer);
    }

    public Set<TableCapability> capabilities() {
        return EnumSet.of(
            TableCapability.BATCH_READ,
            TableCapability.MICRO_BATCH_READ,
            TableCapability.BATCH_WRITE);
    }

    private static Refused onlyRead() {
        return new Refused(
            "LEDGER_UNSUPPORTED", "the changes of a table are only read: write into the table");
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        throw onlyRead();
    }

    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
        throw onlyRead();
    }
}
