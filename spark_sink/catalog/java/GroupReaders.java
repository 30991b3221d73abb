package lakeledger;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** Reads each part of a scan with the reader of its group. */
public class GroupReaders implements PartitionReaderFactory {
    private final PartitionReaderFactory[] groups;

    public GroupReaders(PartitionReaderFactory[] groups) {
        this.groups = groups;
    }

    public PartitionReader createReader(InputPartition partition) {
        GroupPartition part = (GroupPartition) partition;
        return groups[part.group].createReader(part.inner);
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        GroupPartition part = (GroupPartition) partition;
        return groups[part.group].createColumnarReader(part.inner);
    }

    public boolean supportColumnarReads(InputPartition partition) {
        GroupPartition part = (GroupPartition) partition;
        return groups[part.group].supportColumnarReads(part.inner);
    }
}
