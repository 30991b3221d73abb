package lakeledger;

import java.util.HashMap;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScanBuilder;
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;

/** Builds scans with Spark's own builder for Parquet, over the files that Python names. */
class LedgerScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownCatalystFilters {
    private final LedgerTable table;
    private final CaseInsensitiveStringMap options;
    private final RowOperation operation;
    private final PlannedFiles files;
    private ParquetScanBuilder inner;

    /** `operation` is the UPDATE, DELETE or MERGE that rewrites the files, null for a query. */
    LedgerScanBuilder(
        LedgerTable table, CaseInsensitiveStringMap options, RowOperation operation) {
        this.table = table;
        this.operation = operation;
        HashMap all = new HashMap(options.asCaseSensitiveMap());
        // All writers of the ledger's files count days by the Gregorian calendar.
        all.put("datetimeRebaseMode", "CORRECTED");
        all.put("int96RebaseMode", "CORRECTED");
        this.options = new CaseInsensitiveStringMap(all);
        this.files = new PlannedFiles(table);
        this.inner = made();
    }

    private ParquetScanBuilder made() {
        StructType schema = table.data;
        for (int i = 0; i < table.constants.length(); i++) {
            schema = schema.add(table.constants.fields()[i]);
        }
        return new ParquetScanBuilder(Questions.spark(), files, schema, table.data, options);
    }

    public void pruneColumns(StructType required) {
        inner.pruneColumns(required);
    }

    /**
     * Returns the filters that Spark still has to apply. A row-level operation reads whole files:
     * rows that fulfil no condition are written again. So it pushes filters on partitions only.
     */
    public Seq pushFilters(Seq filters) {
        Seq rest = inner.pushFilters(filters);
        files.where(Conditions.sql(filters));
        if (operation == null) return rest;
        Seq partitionFilters = inner.partitionFilters();
        inner = made();
        inner.pushFilters(partitionFilters);
        return filters;
    }

    public Predicate[] pushedFilters() {
        return inner.pushedFilters();
    }

    public Scan build() {
        LedgerScan scan = new LedgerScan(table, (ParquetScan) inner.build(), files, operation);
        if (operation != null) operation.scan = scan;
        return scan;
    }
}
