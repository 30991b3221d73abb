package lakeledger;

import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** Writers of rows that are made from the given ones: each has the values of some expressions. */
public class Projected implements DataWriterFactory {
    private final DataWriterFactory inner;
    private final Attribute[] columns;
    private final Expression[] values;

    public Projected(DataWriterFactory inner, Attribute[] columns, Expression[] values) {
        this.inner = inner;
        this.columns = columns;
        this.values = values;
    }

    public DataWriter<InternalRow> createWriter(int partition, long task) {
        UnsafeProjection made =
            UnsafeProjection.create(
                Scala.seq(Arrays.asList(values)), Scala.seq(Arrays.asList(columns)));
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
