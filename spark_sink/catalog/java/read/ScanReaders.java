package lakeledger;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads each part of a scan with the reader of its group. `read` are the columns that the readers
 * give, `asked` those that Spark wants, in its order.
 */
public class ScanReaders implements PartitionReaderFactory {
    private final PartitionReaderFactory[] groups;
    private final StructType read;
    private final StructType asked;
    /** For parts that compare files: readers of whole rows, their columns, and how many count. */
    private final PartitionReaderFactory[] rewrites;
    private final StructType whole;
    private final int compared;
    /** The refusals of files whose partition values are unfit, by their paths. */
    private final HashMap unfit;

    public ScanReaders(
        PartitionReaderFactory[] groups,
        StructType read,
        StructType asked,
        PartitionReaderFactory[] rewrites,
        StructType whole,
        int compared,
        HashMap unfit) {
        this.groups = groups;
        this.read = read;
        this.asked = asked;
        this.rewrites = rewrites;
        this.whole = whole;
        this.compared = compared;
        this.unfit = unfit;
    }

    public PartitionReader createReader(InputPartition partition) {
        if (partition instanceof RewritePart) {
            FilePartition[] files = ((RewritePart) partition).files;
            for (int i = 0; i < files.length; i++) check(files[i]);
            UnsafeProjection rows = projection(whole, whole, compared);
            return new RewriteReader(
                (RewritePart) partition, rewrites, rows, projection(whole, asked, asked.length()));
        }
        GroupPartition part = (GroupPartition) partition;
        check(part.inner);
        PartitionReader found = groups[part.group].createReader(part.inner);
        if (read.equals(asked)) return found;
        return new InOrder(found, projection(read, asked, asked.length()), null);
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        GroupPartition part = (GroupPartition) partition;
        check(part.inner);
        PartitionReader found = groups[part.group].createColumnarReader(part.inner);
        if (read.equals(asked)) return found;
        int[] order = new int[asked.length()];
        for (int i = 0; i < order.length; i++) order[i] = read.fieldIndex(asked.fields()[i].name());
        return new InOrder(found, null, order);
    }

    private void check(InputPartition part) {
        if (unfit.isEmpty()) return;
        PartitionedFile[] files = ((FilePartition) part).files();
        for (int i = 0; i < files.length; i++) {
            String said = (String) unfit.get(files[i].toPath().toString());
            if (said != null) throw new Refused("LEDGER_UNREADABLE_TABLE", said);
        }
    }

    /** Spark takes rows from all parts of a scan or from none. */
    public boolean supportColumnarReads(InputPartition partition) {
        if (rewrites.length > 0) return false;
        GroupPartition part = (GroupPartition) partition;
        return groups[part.group].supportColumnarReads(part.inner);
    }

    private static UnsafeProjection projection(StructType from, StructType to, int columns) {
        List all = new ArrayList();
        for (int i = 0; i < columns; i++) {
            int at = from.fieldIndex(to.fields()[i].name());
            all.add(new BoundReference(at, from.fields()[at].dataType(), true));
        }
        return UnsafeProjection.create(Scala.seq(all));
    }

    /** Rows, or batches of columns, with their columns in another order. */
    static class InOrder implements PartitionReader {
        private final PartitionReader inner;
        private final UnsafeProjection rows;
        private final int[] order;

        InOrder(PartitionReader inner, UnsafeProjection rows, int[] order) {
            this.inner = inner;
            this.rows = rows;
            this.order = order;
        }

        public boolean next() throws java.io.IOException {
            return inner.next();
        }

        public Object get() {
            if (rows != null) return rows.apply((InternalRow) inner.get());
            ColumnarBatch found = (ColumnarBatch) inner.get();
            ColumnVector[] columns = new ColumnVector[order.length];
            for (int i = 0; i < order.length; i++) columns[i] = found.column(order[i]);
            return new ColumnarBatch(columns, found.numRows());
        }

        public void close() throws java.io.IOException {
            inner.close();
        }
    }
}
