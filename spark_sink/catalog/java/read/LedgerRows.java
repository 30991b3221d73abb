package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table whose rows are in an answer: a history, or the result of a procedure. */
class LedgerRows implements SupportsRead, ScanBuilder, LocalScan {
    private final LedgerCatalog catalog;
    private final JsonNode answer;
    private final StructType schema;

    LedgerRows(LedgerCatalog catalog, JsonNode answer) {
        this.catalog = catalog;
        this.answer = answer;
        this.schema = Columns.fromJson(Json.at(answer, "columns"));
    }

    public String name() {
        return Json.at(answer, "name").asText("rows");
    }

    public StructType schema() {
        return schema;
    }

    public Column[] columns() {
        return CatalogV2Util.structTypeToV2Columns(schema, true);
    }

    public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        ReadOptions.check(catalog, "query of rows about a table", options, name());
        return this;
    }

    public Scan build() {
        return this;
    }

    public StructType readSchema() {
        return schema;
    }

    public InternalRow[] rows() {
        JsonNode said = Json.at(answer, "rows");
        InternalRow[] rows = new InternalRow[said.size()];
        for (int i = 0; i < rows.length; i++) {
            Object[] values = new Object[schema.length()];
            for (int k = 0; k < values.length; k++) {
                values[k] = Columns.value(
                    Json.item(Json.item(said, i), k), schema.fields()[k].dataType());
            }
            rows[i] = new GenericInternalRow(values);
        }
        return rows;
    }
}
