package lakeledger;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.FilePartition;

/**
 * The files that one commit removed from a partition and those that it put there. Rows that are in
 * both have not changed. Of several slices each has the rows of some hashes.
 */
public class RewritePart implements InputPartition {
    final FilePartition[] files;
    /** For each file its group, and whether the commit removed it. */
    final int[] groups;
    final boolean[] removed;
    /** What is said of rows that went and of rows that came. */
    final InternalRow gone;
    final InternalRow come;
    final int slice;
    final int slices;

    public RewritePart(
        FilePartition[] files,
        int[] groups,
        boolean[] removed,
        InternalRow gone,
        InternalRow come,
        int slice,
        int slices) {
        this.files = files;
        this.groups = groups;
        this.removed = removed;
        this.gone = gone;
        this.come = come;
        this.slice = slice;
        this.slices = slices;
    }
}
