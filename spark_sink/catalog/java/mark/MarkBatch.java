package lakeledger;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteSummary;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** The new files of a write, and the rows that its tasks marked: Python gets both at once. */
class MarkBatch implements DeltaBatchWrite {
    private final LedgerWriteBuilder what;
    private final LedgerBatch files;

    MarkBatch(LedgerWriteBuilder what) {
        this.what = what;
        this.files = new LedgerBatch(what, false);
    }

    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new MarkWriters(files.createBatchWriterFactory(info));
    }

    public boolean useCommitCoordinator() {
        return true;
    }

    /** The numbers of Spark may count a row twice that a MERGE deletes for two rows of its source. */
    public void commit(WriterCommitMessage[] messages, WriteSummary summary) {
        commit(messages);
    }

    public void commit(WriterCommitMessage[] messages) {
        Marks all = new Marks();
        for (int i = 0; i < messages.length; i++) {
            if (messages[i] != null) all.add(((MarkedRows) messages[i]).marks());
        }
        files.told.putObject("rows")
            .put("inserted", all.inserted)
            .put("updated", all.updated())
            .put("deleted", all.deleted());
        ArrayNode told = files.told.putArray("marked");
        String[] paths = all.paths();
        for (int i = 0; i < paths.length; i++) {
            told.addArray()
                .add(paths[i])
                .add(what.operation.scan.vector(paths[i]))
                .add(Base64.getEncoder().encodeToString(all.rows(paths[i])));
        }
        files.commit(written(messages));
    }

    public void abort(WriterCommitMessage[] messages) {
        files.abort(written(messages));
    }

    /** What the writers of files said, where a task had new rows. */
    private static WriterCommitMessage[] written(WriterCommitMessage[] messages) {
        List found = new ArrayList();
        for (int i = 0; i < messages.length; i++) {
            if (messages[i] == null) continue;
            WriterCommitMessage each = ((MarkedRows) messages[i]).written;
            if (each != null) found.add(each);
        }
        return (WriterCommitMessage[]) found.toArray(new WriterCommitMessage[0]);
    }
}
