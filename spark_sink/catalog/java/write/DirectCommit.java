package lakeledger;

import java.io.IOException;
import java.io.Serializable;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.FileNameSpec;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Names the files of a write as the ledger's own writers do, and has them written where they stay:
 * no reader knows a file before a commit names it. A task that fails deletes its files; what a
 * crash leaves is an orphan, which vacuum knows by its name.
 */
public class DirectCommit extends FileCommitProtocol implements Serializable {
    private final String location;
    private final String below;
    private final String writer;
    private final boolean[] derived;
    private String drawn;
    /** For each file its path, and the results of transforms, null for NULL. */
    private ArrayList made = new ArrayList();

    /**
     * `below` is a folder within each partition, with a slash at its end, or "". `derived` says for
     * each partition column whether it has the results of a transform.
     */
    public DirectCommit(String location, String below, String writer, boolean[] derived) {
        this.location = location;
        this.below = below;
        this.writer = writer;
        this.derived = derived;
    }

    public void setupJob(JobContext job) {}

    public void commitJob(JobContext job, Seq messages) {}

    public void abortJob(JobContext job) {}

    public void setupTask(TaskAttemptContext task) {
        drawn = String.format("%016x", new Object[] {Long.valueOf(new SecureRandom().nextLong())});
        made = new ArrayList();
    }

    /** Folders name columns alone: readers take each folder with "=" for a column of the table. */
    public String newTaskTempFile(TaskAttemptContext task, Option folder, FileNameSpec spec) {
        StringBuilder partition = new StringBuilder();
        List found = new ArrayList();
        found.add("");
        if (folder.isDefined()) {
            String[] parts = ((String) folder.get()).split("/");
            for (int i = 0; i < parts.length; i++) {
                if (derived[i]) found.add(value(parts[i]));
                else partition.append(parts[i]).append("/");
            }
        }
        String path = partition + below + writer + "-" + drawn + "-" + made.size() + ".parquet";
        found.set(0, path);
        made.add(found.toArray(new String[0]));
        return location + "/" + path;
    }

    private static String value(String folder) {
        String text = folder.substring(folder.indexOf('=') + 1);
        if (text.equals(ExternalCatalogUtils.DEFAULT_PARTITION_NAME())) return null;
        return ExternalCatalogUtils.unescapePathName(text);
    }

    public String newTaskTempFileAbsPath(
        TaskAttemptContext task, String folder, FileNameSpec spec) {
        throw new UnsupportedOperationException("a table of the ledger has one location");
    }

    public FileCommitProtocol.TaskCommitMessage commitTask(TaskAttemptContext task) {
        return new FileCommitProtocol.TaskCommitMessage(made);
    }

    public void abortTask(TaskAttemptContext task) {
        for (Object item : made) {
            Path path = new Path(location + "/" + ((String[]) item)[0]);
            try {
                path.getFileSystem(task.getConfiguration()).delete(path, false);
            } catch (IOException left) {
                continue;
            }
        }
    }
}
