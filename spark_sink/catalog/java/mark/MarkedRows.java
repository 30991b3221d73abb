package lakeledger;

import java.util.HashMap;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** What a task tells the driver: the files that it wrote, and the rows that it marked. */
public class MarkedRows implements WriterCommitMessage {
    /** What the writer of files says, null if the task had no new row. */
    final WriterCommitMessage written;
    private final HashMap updated;
    private final HashMap deleted;
    private final long inserted;

    MarkedRows(WriterCommitMessage written, Marks marks) {
        this.written = written;
        this.updated = Marks.bytes(marks.updated);
        this.deleted = Marks.bytes(marks.deleted);
        this.inserted = marks.inserted;
    }

    Marks marks() {
        return new Marks(Marks.bitmaps(updated), Marks.bitmaps(deleted), inserted);
    }
}
