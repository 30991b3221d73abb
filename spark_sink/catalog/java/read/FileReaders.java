package lakeledger;

import java.io.IOException;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.unsafe.Platform;

/**
 * Spark's readers of files. Of a file that is gone Spark says to refresh the table, which cannot
 * help: the ledger names the file.
 */
public class FileReaders implements PartitionReaderFactory {
    private static final String GONE = "FAILED_READ_FILE.FILE_NOT_EXIST";
    private final PartitionReaderFactory inner;

    public FileReaders(PartitionReaderFactory inner) {
        this.inner = inner;
    }

    public PartitionReader createReader(InputPartition partition) {
        return new Named(inner.createReader(partition));
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        return new Named(inner.createColumnarReader(partition));
    }

    public boolean supportColumnarReads(InputPartition partition) {
        return inner.supportColumnarReads(partition);
    }

    static class Named implements PartitionReader {
        private final PartitionReader inner;

        Named(PartitionReader inner) {
            this.inner = inner;
        }

        public boolean next() throws IOException {
            try {
                return inner.next();
            } catch (Exception error) {
                if (error instanceof SparkThrowable) {
                    SparkThrowable known = (SparkThrowable) error;
                    if (GONE.equals(known.getCondition())) {
                        throw new Refused("LEDGER_UNREADABLE_TABLE", said(known));
                    }
                }
                Platform.throwException(error);
                return false;
            }
        }

        private static String said(SparkThrowable known) {
            return "the ledger names a file that is not there: "
                + known.getMessageParameters().get("path")
                + ". A vacuum deletes files that only old versions need: read a newer version then. "
                + "Else bring the file back, or remove it from the table";
        }

        public Object get() {
            return inner.get();
        }

        public void close() throws IOException {
            inner.close();
        }
    }
}
