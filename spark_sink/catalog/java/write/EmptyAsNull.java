package lakeledger;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Empty2Null;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StringType;

/**
 * Makes an empty text in a partition column NULL, as Hive does. Both have the same folder, so one
 * task would create one file twice.
 */
public class EmptyAsNull implements DataWriterFactory {
    private final DataWriterFactory inner;
    private final Attribute[] columns;
    private final String[] partitionColumns;

    public EmptyAsNull(DataWriterFactory inner, Attribute[] columns, String[] partitionColumns) {
        this.inner = inner;
        this.columns = columns;
        this.partitionColumns = partitionColumns;
    }

    public DataWriter<InternalRow> createWriter(int partition, long task) {
        List values = new ArrayList();
        for (int i = 0; i < columns.length; i++) {
            boolean isText = columns[i].dataType() instanceof StringType;
            boolean isInside = Arrays.asList(partitionColumns).contains(columns[i].name());
            if (isText && isInside) values.add(new Empty2Null((Expression) columns[i]));
            else values.add(columns[i]);
        }
        UnsafeProjection made =
            UnsafeProjection.create(Scala.seq(values), Scala.seq(Arrays.asList(columns)));
        return (DataWriter) new Writer((DataWriter) inner.createWriter(partition, task), made);
    }

    public static class Writer implements DataWriter {
        private final DataWriter inner;
        private final UnsafeProjection made;

        public Writer(DataWriter inner, UnsafeProjection made) {
            this.inner = inner;
            this.made = made;
        }

        public void write(Object row) throws IOException {
            inner.write(made.apply((InternalRow) row));
        }

        public WriterCommitMessage commit() throws IOException {
            return inner.commit();
        }

        public void abort() throws IOException {
            inner.abort();
        }

        public void close() throws IOException {
            inner.close();
        }

        public CustomTaskMetric[] currentMetricsValues() {
            return inner.currentMetricsValues();
        }
    }
}
