package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;

/** A stream over the commits of a table. Python says where a batch ends and which files it has. */
class LedgerStream implements MicroBatchStream, SupportsTriggerAvailableNow {
    private final LedgerScan scan;
    private final CaseInsensitiveStringMap options;
    private final Configuration hadoop;
    private final Path begin;
    /** The last version for a query that reads what there is; -2 for a query without an end. */
    private long until = -2;

    LedgerStream(
        LedgerScan scan, CaseInsensitiveStringMap options, Configuration hadoop, String checkpoint) {
        this.scan = scan;
        this.options = options;
        this.hadoop = hadoop;
        this.begin = new Path(checkpoint, "begin.json");
    }

    private ObjectNode about() {
        ObjectNode asked = scan.table.about().put("changes", scan.table instanceof LedgerChanges);
        asked.set("options", ReadOptions.toJson(options));
        return asked;
    }

    private JsonNode ask(String word, ObjectNode asked) {
        return scan.table.catalog.ask(word, asked);
    }

    /** A first batch that runs again must begin where it began. */
    public Offset initialOffset() {
        try {
            FileSystem files = begin.getFileSystem(hadoop);
            if (!files.exists(begin)) {
                byte[] said = ask("stream_begin", about()).asText().getBytes(StandardCharsets.UTF_8);
                Path draft = begin.suffix(".draft");
                FSDataOutputStream out = files.create(draft, true);
                out.write(said);
                out.close();
                files.rename(draft, begin);
            }
            FSDataInputStream in = files.open(begin);
            byte[] said = in.readAllBytes();
            in.close();
            return new Place(new String(said, StandardCharsets.UTF_8));
        } catch (IOException problem) {
            Platform.throwException(problem);
            return null;
        }
    }

    public Offset latestOffset() {
        throw new UnsupportedOperationException("asked with a limit");
    }

    public Offset latestOffset(Offset start, ReadLimit limit) {
        ObjectNode asked = about().put("start", start.json());
        if (until > -2) asked.put("until", until);
        return new Place(ask("stream_latest", asked).asText());
    }

    public void prepareForTriggerAvailableNow() {
        until = ask("stream_newest", about()).asLong();
    }

    public Offset deserializeOffset(String json) {
        return new Place(json);
    }

    public void commit(Offset end) {}

    public void stop() {}

    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        ObjectNode asked = about().put("start", start.json()).put("end", end.json());
        PlannedFiles files = new PlannedFiles(scan.table).asking("stream_batch", asked);
        PartitionReaderFactory readers = scan.readers(files, scan.inOrder);
        InputPartition[] parts = scan.partitions(files);
        for (int i = 0; i < parts.length; i++) parts[i] = new OwnPart(parts[i], readers);
        return parts;
    }

    /** Files of each batch have groups of their own, so that a part brings its readers. */
    public PartitionReaderFactory createReaderFactory() {
        return new OwnReaders();
    }

    public String toString() {
        return scan.table.name();
    }

    static class Place extends Offset {
        private final String json;

        Place(String json) {
            this.json = json;
        }

        public String json() {
            return json;
        }
    }

    public static class OwnPart implements InputPartition {
        final InputPartition inner;
        final PartitionReaderFactory readers;

        public OwnPart(InputPartition inner, PartitionReaderFactory readers) {
            this.inner = inner;
            this.readers = readers;
        }

        public String[] preferredLocations() {
            return inner.preferredLocations();
        }
    }

    public static class OwnReaders implements PartitionReaderFactory {
        public PartitionReader createReader(InputPartition partition) {
            OwnPart part = (OwnPart) partition;
            return part.readers.createReader(part.inner);
        }

        public PartitionReader createColumnarReader(InputPartition partition) {
            OwnPart part = (OwnPart) partition;
            return part.readers.createColumnarReader(part.inner);
        }

        public boolean supportColumnarReads(InputPartition partition) {
            OwnPart part = (OwnPart) partition;
            return part.readers.supportColumnarReads(part.inner);
        }
    }
}
