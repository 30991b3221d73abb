package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsSchemaEvolution;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A table of the ledger as of one position, or as one txn sees it. */
class LedgerTable extends FileRelation
    implements SupportsWrite, SupportsRowLevelOperations, SupportsDeleteV2,
        SupportsMetadataColumns, SupportsPartitionManagement, SupportsSchemaEvolution {
    /** Whether a MERGE marks rows of it, which Spark would check by their columns: all NULL. */
    private boolean mergesByMarks;
    /** Whether a stream named it by its format: then Spark finds no function of the catalog. */
    boolean byFormat;

    LedgerTable(LedgerCatalog catalog, JsonNode answer) {
        super(catalog, answer);
    }

    public Transform[] partitioning() {
        return Transforms.of(Json.at(answer, "divided"));
    }

    public Constraint[] constraints() {
        return Constraints.fromJson(leftToSpark());
    }

    /** The constraints that Spark checks; the ledger checks all others when the write ends. */
    JsonNode leftToSpark() {
        return mergesByMarks ? (JsonNode) Json.array() : Json.at(answer, "constraints");
    }

    public Set<TableCapability> capabilities() {
        return EnumSet.of(
            TableCapability.BATCH_READ,
            TableCapability.MICRO_BATCH_READ,
            TableCapability.BATCH_WRITE,
            TableCapability.STREAMING_WRITE,
            TableCapability.TRUNCATE,
            TableCapability.OVERWRITE_BY_FILTER,
            TableCapability.OVERWRITE_DYNAMIC,
            TableCapability.AUTOMATIC_SCHEMA_EVOLUTION);
    }

    /** Statements WITH SCHEMA EVOLUTION may add columns, and make the type of a column wider. */
    public boolean supportsColumnChange(TableChange.ColumnChange change) {
        if (change instanceof TableChange.AddColumn) return true;
        String[] path = change.fieldNames();
        if (!(change instanceof TableChange.UpdateColumnType) || path.length > 1) return false;
        int at = data.getFieldIndex(path[0]).isEmpty() ? -1 : data.fieldIndex(path[0]);
        if (at < 0) return false;
        DataType after = ((TableChange.UpdateColumnType) change).newDataType();
        ObjectNode asked = about().put("before", Columns.text(data.fields()[at].dataType()));
        asked.put("after", Columns.text(after));
        return catalog.ask("can_widen", asked).asBoolean();
    }

    public MetadataColumn[] metadataColumns() {
        MetadataColumn path = new HiddenColumn(file, DataTypes.StringType);
        if (row == null) return new MetadataColumn[] {path};
        return new MetadataColumn[] {path, new HiddenColumn(row, DataTypes.LongType)};
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
        return new LedgerWriteBuilder(this, info, "append", null);
    }

    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
        if (row == null) return new RewriteOperation(this, info.command());
        mergesByMarks = info.command() == RowLevelOperation.Command.MERGE;
        return new MarkOperation(this, info.command());
    }

    /** True only if whole files can go: every condition must be judged by partitions alone. */
    public boolean canDeleteWhere(Predicate[] where) {
        for (int i = 0; i < where.length; i++) {
            NamedReference[] read = where[i].references();
            for (int k = 0; k < read.length; k++) {
                // Python does not know where rows lie.
                String column = read[k].fieldNames()[0];
                if (column.equals(file) || column.equals(row)) return false;
            }
        }
        return ask("can_delete", where).asBoolean();
    }

    public void deleteWhere(Predicate[] where) {
        ask("delete", where);
    }

    JsonNode ask(String word, Predicate[] where) {
        ObjectNode asked = about();
        asked.set("where", Conditions.of(where));
        return catalog.ask(word, asked);
    }

    public boolean truncateTable() {
        deleteWhere(new Predicate[0]);
        return true;
    }

    static class HiddenColumn implements MetadataColumn {
        private final String name;
        private final DataType type;

        HiddenColumn(String name, DataType type) {
            this.name = name;
            this.type = type;
        }

        public String name() {
            return name;
        }

        public DataType dataType() {
            return type;
        }

        public boolean isNullable() {
            return false;
        }
    }

    // Partitions, for SHOW PARTITIONS.

    /** The results of a transform are texts, under the text of the transform. */
    public StructType partitionSchema() {
        StructType found = new StructType();
        JsonNode divided = Json.at(answer, "divided");
        for (int i = 0; i < divided.size(); i++) {
            String name = Json.text(Json.item(divided, i), "name");
            boolean isColumn = Json.text(Json.item(divided, i), "kind").isEmpty();
            if (isColumn) found = found.add(constants.fields()[constants.fieldIndex(name)]);
            else found = found.add(name, DataTypes.StringType);
        }
        return found;
    }

    public InternalRow[] listPartitionIdentifiers(String[] names, InternalRow given) {
        JsonNode found = catalog.ask("partitions", about());
        StructType types = partitionSchema();
        java.util.ArrayList kept = new java.util.ArrayList();
        for (int i = 0; i < found.size(); i++) {
            Object[] values = new Object[types.length()];
            for (int k = 0; k < values.length; k++) {
                values[k] = Columns.partitionValue(
                    Json.item(Json.item(found, i), k), types.fields()[k].dataType());
            }
            boolean fits = true;
            for (int k = 0; k < names.length; k++) {
                int at = types.fieldIndex(names[k]);
                Object wanted = given.get(k, types.fields()[at].dataType());
                fits = fits && (wanted == null ? values[at] == null : wanted.equals(values[at]));
            }
            if (fits) kept.add(new GenericInternalRow(values));
        }
        return (InternalRow[]) kept.toArray(new InternalRow[0]);
    }

    private static Refused noPartitions() {
        return new Refused(
            "LEDGER_UNSUPPORTED",
            "partitions come and go with their rows: use INSERT, or DELETE with a condition");
    }

    public void createPartition(InternalRow values, Map<String, String> properties) {
        throw noPartitions();
    }

    public boolean dropPartition(InternalRow values) {
        throw noPartitions();
    }

    public void replacePartitionMetadata(InternalRow values, Map<String, String> properties) {
        throw noPartitions();
    }

    public Map<String, String> loadPartitionMetadata(InternalRow values) {
        return new java.util.HashMap<String, String>();
    }
}
