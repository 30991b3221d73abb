package lakeledger;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.ChangelogRange;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** CHANGES of a table in SQL: the table of its changes, with a range of versions or times. */
class LedgerChangelog implements Changelog {
    private final LedgerChanges changes;
    private final Map range = new HashMap();

    LedgerChangelog(LedgerChanges changes, ChangelogContext context) {
        this.changes = changes;
        if (context.deduplicationMode() == ChangelogContext.DeduplicationMode.NET_CHANGES) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "changes are net within a commit, and are not netted over several commits: leave"
                    + " out netChanges");
        }
        ChangelogRange asked = context.range();
        int after = asked.startingBoundInclusive() ? 0 : 1;
        int before = asked.endingBoundInclusive() ? 0 : 1;
        if (asked instanceof ChangelogRange.VersionRange) {
            ChangelogRange.VersionRange found = (ChangelogRange.VersionRange) asked;
            range.put("startingVersion", moved(found.startingVersion(), after));
            if (found.endingVersion().isPresent()) {
                range.put("endingVersion", moved((String) found.endingVersion().get(), -before));
            }
        } else if (asked instanceof ChangelogRange.TimestampRange) {
            ChangelogRange.TimestampRange found = (ChangelogRange.TimestampRange) asked;
            range.put("startingTimestamp", time(found.startingTimestamp() + after));
            if (found.endingTimestamp().isPresent()) {
                long end = ((Long) found.endingTimestamp().get()).longValue();
                range.put("endingTimestamp", time(end - before));
            }
        }
    }

    /** A text that is no number stays as it is: Python refuses it. */
    private static String moved(String version, int by) {
        return version.matches("[0-9]{1,18}") ? String.valueOf(Long.parseLong(version) + by) : version;
    }

    private static String time(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS).toString();
    }

    public String name() {
        return changes.name();
    }

    public Column[] columns() {
        return changes.columns();
    }

    public boolean containsCarryoverRows() {
        return false;
    }

    public boolean containsIntermediateChanges() {
        return false;
    }

    public boolean representsUpdateAsDeleteAndInsert() {
        return false;
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        HashMap all = new HashMap(options.asCaseSensitiveMap());
        all.putAll(range);
        return changes.newScanBuilder(new CaseInsensitiveStringMap(all));
    }
}
