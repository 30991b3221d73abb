package lakeledger;

import java.io.IOException;
import java.io.Serializable;
import java.security.SecureRandom;
import java.util.ArrayList;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.FileNameSpec;
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
    private String drawn;
    private ArrayList made = new ArrayList();

    /** `below` is a folder within each partition, with a slash at its end, or "". */
    public DirectCommit(String location, String below, String writer) {
        this.location = location;
        this.below = below;
        this.writer = writer;
    }

    public void setupJob(JobContext job) {}

    public void commitJob(JobContext job, Seq messages) {}

    public void abortJob(JobContext job) {}

    public void setupTask(TaskAttemptContext task) {
        drawn = String.format("%016x", new Object[] {Long.valueOf(new SecureRandom().nextLong())});
        made = new ArrayList();
    }

    public String newTaskTempFile(TaskAttemptContext task, Option folder, FileNameSpec spec) {
        String partition = folder.isDefined() ? (String) folder.get() + "/" : "";
        String path = partition + below + writer + "-" + drawn + "-" + made.size() + ".parquet";
        made.add(path);
        return location + "/" + path;
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
            Path path = new Path(location + "/" + (String) item);
            try {
                path.getFileSystem(task.getConfiguration()).delete(path, false);
            } catch (IOException left) {
                continue;
            }
        }
    }
}
