package lakeledger;

import java.io.IOException;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.unsafe.Platform;

/**
 * Spark's readers of files, and of rows in the log. Of a file that is gone Spark says to refresh the table, which cannot
 * help: the ledger names the file.
 */
public class FileReaders implements PartitionReaderFactory {
    private static final String GONE = "FAILED_READ_FILE.FILE_NOT_EXIST";
    private final PartitionReaderFactory inner;

    public FileReaders(PartitionReaderFactory inner) {
        this.inner = inner;
    }

    public PartitionReader createReader(InputPartition partition) {
        LoggedRows.Opened files = LoggedRows.open(partition);
        return new Named(inner.createReader(files.part), files);
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        LoggedRows.Opened files = LoggedRows.open(partition);
        return new Named(inner.createColumnarReader(files.part), files);
    }

    public boolean supportColumnarReads(InputPartition partition) {
        return inner.supportColumnarReads(partition);
    }

    static class Named implements PartitionReader {
        private final PartitionReader inner;
        private final LoggedRows.Opened files;

        Named(PartitionReader inner, LoggedRows.Opened files) {
            this.inner = inner;
            this.files = files;
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
            try {
                inner.close();
            } finally {
                files.close();
            }
        }
    }
}
