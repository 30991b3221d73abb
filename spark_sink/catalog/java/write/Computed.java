package lakeledger;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * Gives rows the values of generated columns and identity columns. Spark fills a column that a
 * statement leaves out with NULL, so NULL is what is filled here.
 */
public class Computed implements DataWriterFactory {
    private final DataWriterFactory inner;
    private final Attribute[] columns;
    /** The values of generated columns by their places, null for other columns. */
    private final Expression[] values;
    /** Is true for a row with a wrong value, null if no row is looked at. */
    private final Expression broken;
    private final String said;
    /** The numbers of identity columns by their places, null for other columns. */
    private final Numbers[] numbers;

    public Computed(
        DataWriterFactory inner,
        Attribute[] columns,
        Expression[] values,
        Expression broken,
        String said,
        Numbers[] numbers) {
        this.inner = inner;
        this.columns = columns;
        this.values = values;
        this.broken = broken;
        this.said = said;
        this.numbers = numbers;
    }

    public DataWriter<InternalRow> createWriter(int partition, long task) {
        List all = new ArrayList();
        boolean numbered = false;
        for (int i = 0; i < columns.length; i++) {
            all.add(values[i] == null ? (Expression) columns[i] : values[i]);
            numbered = numbered || numbers[i] != null;
        }
        UnsafeProjection made =
            UnsafeProjection.create(Scala.seq(all), Scala.seq(Arrays.asList(columns)));
        BasePredicate wrong =
            broken == null
                ? null
                : Predicate.create(broken, Scala.seq(Arrays.asList(columns)));
        Numbers[] own = new Numbers[numbers.length];
        for (int i = 0; i < own.length; i++) {
            own[i] = numbers[i] == null ? null : numbers[i].anew();
        }
        DataWriter found = (DataWriter) inner.createWriter(partition, task);
        return (DataWriter) new Writer(found, columns, made, wrong, said, numbered ? own : null);
    }

    public static class Writer implements DataWriter {
        private final DataWriter inner;
        private final Attribute[] columns;
        private final UnsafeProjection made;
        private final BasePredicate wrong;
        private final String said;
        private final Numbers[] numbers;

        public Writer(
            DataWriter inner,
            Attribute[] columns,
            UnsafeProjection made,
            BasePredicate wrong,
            String said,
            Numbers[] numbers) {
            this.inner = inner;
            this.columns = columns;
            this.made = made;
            this.wrong = wrong;
            this.said = said;
            this.numbers = numbers;
        }

        public void write(Object given) throws IOException {
            InternalRow row = (InternalRow) given;
            if (numbers != null) row = numbered(row);
            if (wrong != null && wrong.eval(row)) {
                throw new Refused("LEDGER_CONSTRAINT_VIOLATED", said);
            }
            inner.write(made.apply(row));
        }

        private InternalRow numbered(InternalRow row) {
            Object[] found = new Object[columns.length];
            for (int i = 0; i < found.length; i++) {
                if (!row.isNullAt(i)) {
                    if (numbers[i] != null) numbers[i].checkOwn();
                    found[i] = row.get(i, columns[i].dataType());
                } else if (numbers[i] != null) {
                    found[i] = Long.valueOf(numbers[i].next());
                }
            }
            return new GenericInternalRow(found);
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
