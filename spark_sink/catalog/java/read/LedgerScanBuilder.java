package lakeledger;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
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
    private final FileRelation table;
    private final CaseInsensitiveStringMap given;
    private final CaseInsensitiveStringMap options;
    private final RowOperation operation;
    private final PlannedFiles files;
    private ParquetScanBuilder inner;
    /** The columns of a stream: Spark takes them by their places, in the order of the table. */
    private StructType inOrder;

    /** `operation` is the UPDATE, DELETE or MERGE that changes the rows, null for a query. */
    LedgerScanBuilder(
        FileRelation table, CaseInsensitiveStringMap options, RowOperation operation) {
        this.table = table;
        this.operation = operation;
        this.given = options;
        HashMap all = new HashMap(options.asCaseSensitiveMap());
        // All writers of the ledger's files count days by the Gregorian calendar.
        all.put("datetimeRebaseMode", "CORRECTED");
        all.put("int96RebaseMode", "CORRECTED");
        this.options = new CaseInsensitiveStringMap(all);
        this.files = planned();
        this.inner = made();
        this.inOrder = table.schema;
    }

    private PlannedFiles planned() {
        if (!(table instanceof LedgerChanges)) {
            PlannedFiles found = new PlannedFiles(table);
            if (operation != null && operation.marksWhatItReads()) found.byRow();
            return found;
        }
        ObjectNode asked = table.about();
        asked.set("options", ReadOptions.toJson(options));
        return new PlannedFiles(table).asking("changed", asked);
    }

    private ParquetScanBuilder made() {
        return new ParquetScanBuilder(
            Session.spark(), files, table.whole(), table.data, options);
    }

    public void pruneColumns(StructType required) {
        inOrder = required;
        inner.pruneColumns(required);
    }

    /**
     * Returns the filters that Spark still has to apply. A statement that writes files again reads
     * them whole, also rows that fulfil no condition. So it pushes filters on partitions only. A
     * rewrite among changes is read whole, so that filters on its partitions are left to Spark too.
     */
    public Seq pushFilters(Seq filters) {
        Seq rest = inner.pushFilters(filters);
        files.where(Conditions.of(onColumns(filters)));
        if (table instanceof LedgerChanges) return filters;
        if (operation == null || operation.marks()) return rest;
        Seq partitionFilters = inner.partitionFilters();
        inner = made();
        inner.pushFilters(partitionFilters);
        return filters;
    }

    /** The filters on columns of the table: Python knows no others, and Spark judges all rows. */
    private Seq onColumns(Seq filters) {
        List found = new ArrayList();
        for (Object item : Scala.list(filters)) {
            boolean isOnPlace = false;
            for (Object column : Scala.list(((Expression) item).references().toSeq())) {
                String name = ((Attribute) column).name();
                isOnPlace = isOnPlace || name.equals(table.file) || name.equals(table.row);
            }
            if (!isOnPlace) found.add(item);
        }
        return Scala.seq(found);
    }

    public Predicate[] pushedFilters() {
        return inner.pushedFilters();
    }

    public Scan build() {
        ParquetScan found = (ParquetScan) inner.build();
        if (operation == null && !(table instanceof LedgerChanges) && !asksForPlaces(found)) {
            files.asFew();
        }
        LedgerScan scan = new LedgerScan(table, found, inOrder, files, operation, given);
        if (operation != null) operation.scan = scan;
        return scan;
    }

    /** Whether a column or a filter of a scan is the path of a file, or the number of a row. */
    private boolean asksForPlaces(ParquetScan scan) {
        List read = Arrays.asList(scan.readSchema().fieldNames());
        return read.contains(table.file)
            || read.contains(table.row)
            || Scala.list(onColumns(scan.partitionFilters())).size() < scan.partitionFilters().size()
            || Scala.list(onColumns(scan.dataFilters())).size() < scan.dataFilters().size();
    }
}
