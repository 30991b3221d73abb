package lakeledger;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.unsafe.types.UTF8String;

/** Writers of tasks that mark rows. New rows go to a writer of files, made for the first of them. */
public class MarkWriters implements DeltaWriterFactory {
    /** The writers of files, null for a statement without new rows. */
    private final DataWriterFactory inner;

    public MarkWriters(DataWriterFactory inner) {
        this.inner = inner;
    }

    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
        return (DeltaWriter) new Writer(inner, partition, task);
    }

    public static class Writer implements DeltaWriter {
        private final DataWriterFactory factory;
        private final int partition;
        private final long task;
        private final Marks marks = new Marks();
        private DataWriter files;
        private UTF8String bytes;
        private String path;

        public Writer(DataWriterFactory factory, int partition, long task) {
            this.factory = factory;
            this.partition = partition;
            this.task = task;
        }

        public void delete(Object metadata, Object id) throws IOException {
            InternalRow row = (InternalRow) id;
            marks.delete(path(row), row.getLong(1));
        }

        public void update(Object metadata, Object id, Object row) throws IOException {
            InternalRow old = (InternalRow) id;
            marks.update(path(old), old.getLong(1));
            written(row);
        }

        public void insert(Object row) throws IOException {
            marks.inserted++;
            written(row);
        }

        public void reinsert(Object metadata, Object row) throws IOException {
            throw new UnsupportedOperationException("an update comes as one row");
        }

        public void write(Object row) throws IOException {
            insert(row);
        }

        /** Rows of one file mostly come one after the other. */
        private String path(InternalRow id) {
            UTF8String found = id.getUTF8String(0);
            if (bytes == null || !bytes.equals(found)) {
                bytes = found.clone();
                path = bytes.toString();
            }
            return path;
        }

        private void written(Object row) throws IOException {
            if (files == null) files = (DataWriter) factory.createWriter(partition, task);
            files.write(row);
        }

        public WriterCommitMessage commit() throws IOException {
            return new MarkedRows(files == null ? null : files.commit(), marks);
        }

        public void abort() throws IOException {
            if (files != null) files.abort();
        }

        public void close() throws IOException {
            if (files != null) files.close();
        }

        public CustomTaskMetric[] currentMetricsValues() {
            return files == null ? new CustomTaskMetric[0] : files.currentMetricsValues();
        }
    }
}
