package lakeledger;

import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;

/** A write of new rows and of marks. New rows come together as in every other write. */
class MarkWrite implements DeltaWriteBuilder, DeltaWrite, RequiresDistributionAndOrdering {
    private final LedgerWriteBuilder what;
    /** The write of the new rows, null for a DELETE, whose rows have no columns but their ids. */
    private final LedgerWriteBuilder.LedgerWrite rows;

    MarkWrite(LedgerWriteBuilder what) {
        this.what = what;
        this.rows = what.hasRows() ? new LedgerWriteBuilder.LedgerWrite(what) : null;
    }

    public DeltaWrite build() {
        return this;
    }

    public String description() {
        return what.mode + " " + what.table.name();
    }

    public Distribution requiredDistribution() {
        if (rows == null) return (Distribution) Distributions.unspecified();
        return rows.requiredDistribution();
    }

    public boolean distributionStrictlyRequired() {
        return false;
    }

    public SortOrder[] requiredOrdering() {
        return rows == null ? new SortOrder[0] : rows.requiredOrdering();
    }

    public DeltaBatchWrite toBatch() {
        return new MarkBatch(what);
    }
}
