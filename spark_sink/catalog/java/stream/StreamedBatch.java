package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeq;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.connector.read.streaming.Offset;
import scala.Option;

/** The writes of a stream into a table: each batch is a write like that of a statement. */
class StreamedBatch implements StreamingWrite {
    private final LedgerWriteBuilder what;
    private LedgerBatch inner;

    StreamedBatch(LedgerWriteBuilder what) {
        this.what = what;
    }

    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
        inner = new LedgerBatch(what, true);
        return new Factory(inner.createBatchWriterFactory(info));
    }

    public void commit(long epoch, WriterCommitMessage[] messages) {
        inner.told.set("stream", stream(epoch));
        inner.commit(messages);
    }

    public void abort(long epoch, WriterCommitMessage[] messages) {
        if (inner != null) inner.abort(messages);
    }

    /** The query and the offsets at which its batch ends. */
    private JsonNode stream(long epoch) {
        String id = what.info.queryId();
        StreamExecution query =
            (StreamExecution)
                Session.spark().sharedState().activeStreamingQueries().get(UUID.fromString(id));
        ObjectNode told = Json.object()
            .put("query", id)
            .put("name", query.name() == null ? "" : query.name())
            .put("batch", epoch)
            .put("checkpoint", query.resolvedCheckpointRoot())
            .put("application", (String) what.info.options().getOrDefault("application", ""))
            .put("from_batch", what.info.options().getLong("from_batch", 0));
        ArrayNode sources = told.putArray("sources");
        Option planned = query.offsetLog().get(epoch);
        if (!planned.isDefined()) return told;
        List ends = Scala.list(((OffsetSeq) planned.get()).offsets());
        List streams = Scala.list(query.sources());
        for (int i = 0; i < ends.size(); i++) {
            ObjectNode source = sources.addObject();
            SparkDataStream stream = i < streams.size() ? (SparkDataStream) streams.get(i) : null;
            source.put("source", stream == null ? "" : stream.toString());
            Option end = (Option) ends.get(i);
            source.put("end", end.isDefined() ? ((Offset) end.get()).json() : null);
            Offset latest = null;
            if (stream instanceof SupportsAdmissionControl) {
                latest = ((SupportsAdmissionControl) stream).reportLatestOffset();
            }
            source.put("latest", latest == null ? null : latest.json());
        }
        return told;
    }

    /** The writers of a batch, for executors. */
    public static class Factory implements StreamingDataWriterFactory {
        private final DataWriterFactory inner;

        public Factory(DataWriterFactory inner) {
            this.inner = inner;
        }

        public DataWriter createWriter(int partition, long task, long epoch) {
            return inner.createWriter(partition, task);
        }
    }
}
