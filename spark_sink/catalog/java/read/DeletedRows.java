package lakeledger;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Base64;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.roaringbitmap.RoaringBitmap;

/**
 * Leaves out the deleted rows of a file. Rows are numbered as they come, so each part must be one
 * file, read from its first row to its last, without any filter.
 */
public class DeletedRows implements PartitionReaderFactory {
    /** The name under which a file carries the numbers of its deleted rows. */
    static final String DELETED = "lakeledger.deleted";

    private final PartitionReaderFactory inner;

    public DeletedRows(PartitionReaderFactory inner) {
        this.inner = inner;
    }

    public PartitionReader createReader(InputPartition part) {
        RoaringBitmap deleted = of(part);
        PartitionReader found = inner.createReader(part);
        return deleted == null ? found : new Kept(found, deleted, path(part), false);
    }

    public PartitionReader createColumnarReader(InputPartition part) {
        RoaringBitmap deleted = of(part);
        PartitionReader found = inner.createColumnarReader(part);
        return deleted == null ? found : new Kept(found, deleted, path(part), true);
    }

    public boolean supportColumnarReads(InputPartition part) {
        return inner.supportColumnarReads(part);
    }

    private static String path(InputPartition part) {
        return ((FilePartition) part).files()[0].toPath().toString();
    }

    private static RoaringBitmap of(InputPartition part) {
        PartitionedFile[] files = ((FilePartition) part).files();
        Object text = null;
        for (int i = 0; i < files.length; i++) {
            Object said = files[i].otherConstantMetadataColumnValues().getOrElse(DELETED, null);
            if (said != null) text = said;
        }
        if (text == null) return null;
        if (files.length > 1 || files[0].start() > 0) {
            throw new IllegalStateException("a part with deleted rows must be one whole file");
        }
        RoaringBitmap deleted = new RoaringBitmap();
        try {
            deleted.deserialize(ByteBuffer.wrap(Base64.getDecoder().decode((String) text)));
        } catch (IOException problem) {
            throw new IllegalStateException(problem);
        }
        return deleted;
    }

    /** The rows, or batches of rows, that are left. */
    static class Kept implements PartitionReader {
        private final PartitionReader inner;
        private final RoaringBitmap deleted;
        private final String path;
        private final boolean inBatches;
        private int number = 0;
        private Object current;

        Kept(PartitionReader inner, RoaringBitmap deleted, String path, boolean inBatches) {
            this.inner = inner;
            this.deleted = deleted;
            this.path = path;
            this.inBatches = inBatches;
        }

        public boolean next() throws IOException {
            while (inner.next()) {
                if (inBatches) {
                    current = left((ColumnarBatch) inner.get());
                    if (current != null) return true;
                } else if (!deleted.contains(number++)) {
                    current = inner.get();
                    return true;
                }
            }
            if (!deleted.isEmpty() && deleted.last() >= number) {
                throw new Refused(
                    "LEDGER_UNREADABLE_TABLE",
                    "file " + path + " has " + number + " rows, and its deletion vector names row "
                        + deleted.last() + ": one of them is of another file. Restore it from a copy");
            }
            return false;
        }

        /** The rows of a batch that are left; null if none is. */
        private ColumnarBatch left(ColumnarBatch batch) {
            int rows = batch.numRows();
            int first = number;
            number += rows;
            int gone = (int) deleted.rangeCardinality(first, number);
            if (gone == 0) return batch;
            if (gone == rows) return null;
            int[] kept = new int[rows - gone];
            int count = 0;
            for (int row = 0; row < rows; row++) {
                if (!deleted.contains(first + row)) kept[count++] = row;
            }
            ColumnVector[] columns = new ColumnVector[batch.numCols()];
            for (int i = 0; i < columns.length; i++) {
                columns[i] = new KeptRows(batch.column(i), kept);
            }
            return new ColumnarBatch(columns, kept.length);
        }

        public Object get() {
            return current;
        }

        public void close() throws IOException {
            inner.close();
        }
    }
}
