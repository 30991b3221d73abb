package lakeledger;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Option;

/**
 * Rows in the log, as files of Parquet that are in no storage. A part of a scan brings their bytes,
 * which its reader opens by a number of their own.
 */
public class LoggedRows extends FileSystem {
    /** The name under which a file carries its bytes. */
    static final String ROWS = "lakeledger.rows";

    private static final String SCHEME = "rows";
    private static final AtomicLong LAST = new AtomicLong();
    private static final ConcurrentHashMap OPEN = new ConcurrentHashMap();

    /** Settings with which Spark's reader finds these files. */
    static Configuration known(Configuration hadoop) {
        Configuration own = new Configuration(hadoop);
        own.set("fs." + SCHEME + ".impl", "lakeledger.LoggedRows");
        own.setBoolean("fs." + SCHEME + ".impl.disable.cache", true);
        return own;
    }

    /** Returns a part whose rows in the log can be read until it is closed. */
    static Opened open(InputPartition part) {
        PartitionedFile[] files = (PartitionedFile[]) ((FilePartition) part).files().clone();
        List places = new ArrayList();
        for (int i = 0; i < files.length; i++) {
            PartitionedFile file = files[i];
            Option rows = file.otherConstantMetadataColumnValues().get(ROWS);
            if (rows.isEmpty()) continue;
            Path place = new Path(SCHEME + ":/" + LAST.incrementAndGet());
            OPEN.put(place.toString(), Base64.getDecoder().decode((String) rows.get()));
            places.add(place.toString());
            files[i] = new PartitionedFile(
                file.partitionValues(), SparkPath.fromPath(place), file.start(), file.length(),
                file.locations(), file.modificationTime(), file.fileSize(),
                file.otherConstantMetadataColumnValues());
        }
        return new Opened(new FilePartition(((FilePartition) part).index(), files), places);
    }

    static class Opened {
        final FilePartition part;
        private final List places;

        Opened(FilePartition part, List places) {
            this.part = part;
            this.places = places;
        }

        void close() {
            for (int i = 0; i < places.size(); i++) OPEN.remove(places.get(i));
        }
    }

    private static byte[] bytes(Path path) throws IOException {
        byte[] found = (byte[]) OPEN.get(path.toString());
        if (found == null) throw new FileNotFoundException(path + " is not open");
        return found;
    }

    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        return new FSDataInputStream(new Bytes(bytes(path)));
    }

    public FileStatus getFileStatus(Path path) throws IOException {
        return new FileStatus(bytes(path).length, false, 1, 1L, 0L, path);
    }

    public FileStatus[] listStatus(Path path) throws IOException {
        return new FileStatus[] {getFileStatus(path)};
    }

    public URI getUri() {
        return URI.create(SCHEME + ":///");
    }

    public Path getWorkingDirectory() {
        return new Path(SCHEME + ":/");
    }

    public void setWorkingDirectory(Path path) {}

    public FSDataOutputStream create(
        Path path, FsPermission permission, boolean overwrite, int bufferSize, short replication,
        long blockSize, Progressable progress) throws IOException {
        throw readOnly();
    }

    public FSDataOutputStream append(Path path, int bufferSize, Progressable progress)
        throws IOException {
        throw readOnly();
    }

    public boolean rename(Path from, Path to) throws IOException {
        throw readOnly();
    }

    public boolean delete(Path path, boolean recursive) throws IOException {
        throw readOnly();
    }

    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        throw readOnly();
    }

    private static IOException readOnly() {
        return new IOException("rows in the log are only read here");
    }

    static class Bytes extends FSInputStream {
        private final byte[] data;
        private int at = 0;

        Bytes(byte[] data) {
            this.data = data;
        }

        public void seek(long place) throws IOException {
            if (place < 0 || place > data.length) throw new EOFException("no byte " + place);
            at = (int) place;
        }

        public long getPos() {
            return at;
        }

        public boolean seekToNewSource(long place) {
            return false;
        }

        public int read() {
            return at < data.length ? data[at++] & 255 : -1;
        }

        public int read(byte[] into, int from, int length) {
            if (length == 0) return 0;
            if (at == data.length) return -1;
            int count = Math.min(length, data.length - at);
            System.arraycopy(data, at, into, from, count);
            at += count;
            return count;
        }
    }
}
