package lakeledger;

import org.apache.spark.sql.connector.read.InputPartition;

/** A part of a scan whose files all belong to one group. */
public class GroupPartition implements InputPartition {
    final int group;
    final InputPartition inner;

    public GroupPartition(int group, InputPartition inner) {
        this.group = group;
        this.inner = inner;
    }

    public String[] preferredLocations() {
        return inner.preferredLocations();
    }
}
