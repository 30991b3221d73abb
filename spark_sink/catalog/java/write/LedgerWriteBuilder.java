package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.connector.distributions.Distribution;
import org.apache.spark.sql.connector.distributions.Distributions;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.NullOrdering;
import org.apache.spark.sql.connector.expressions.SortDirection;
import org.apache.spark.sql.connector.expressions.SortOrder;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RequiresDistributionAndOrdering;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;

/** What is to be written: rows that are added, or put in the place of others. */
class LedgerWriteBuilder implements SupportsOverwriteV2, SupportsDynamicOverwrite {
    final LedgerTable table;
    final LogicalWriteInfo info;
    final RowOperation operation;
    /** append, truncate, overwrite, dynamic, update, delete or merge. */
    String mode;
    Predicate[] where = new Predicate[0];

    LedgerWriteBuilder(
        LedgerTable table, LogicalWriteInfo info, String mode, RowOperation operation) {
        this.table = table;
        this.info = info;
        this.mode = mode;
        this.operation = operation;
    }

    /** Whether there are new rows: a DELETE that marks rows has none. */
    boolean hasRows() {
        return info.schema().length() > 0;
    }

    public boolean canOverwrite(Predicate[] where) {
        return table.ask("can_overwrite", where).asBoolean();
    }

    public WriteBuilder overwrite(Predicate[] where) {
        mode = "overwrite";
        this.where = where;
        return this;
    }

    public WriteBuilder truncate() {
        mode = "truncate";
        return this;
    }

    public WriteBuilder overwriteDynamicPartitions() {
        mode = "dynamic";
        return this;
    }

    public Write build() {
        return new LedgerWrite(this);
    }

    /** Rows of one partition come together, so that a task has one file open at a time. */
    static class LedgerWrite implements RequiresDistributionAndOrdering {
        private final LedgerWriteBuilder what;

        LedgerWrite(LedgerWriteBuilder what) {
            this.what = what;
        }

        public String description() {
            return what.mode + " " + what.table.name();
        }

        /** What divides files: Spark looks its functions up in the catalog. */
        private Expression[] divided() {
            JsonNode all = Json.at(what.table.answer, "divided");
            Expression[] found = new Expression[all.size()];
            for (int i = 0; i < found.length; i++) found[i] = key(Json.item(all, i));
            return found;
        }

        private Expression key(JsonNode each) {
            NamedReference column = Identifiers.column(Json.text(each, "column"));
            String kind = Json.text(each, "kind");
            if (kind.isEmpty()) return (Expression) column;
            if (what.table.byFormat) {
                throw new Refused(
                    "LEDGER_UNSUPPORTED",
                    "a stream into table " + what.table.name() + ", which "
                        + kind.replace(PartitionFunction.RANK, "") + " of column "
                        + Json.text(each, "column") + " divides or orders, must end with toTable('"
                        + what.table.name() + "'), got the format lakeledger");
            }
            String name = PartitionFunction.name(kind, Json.at(each, "width").asInt());
            return (Expression) Expressions.apply(name, new Expression[] {column});
        }

        /** Rows of a computed partition are not known yet: they come in the order of its sources. */
        public Distribution requiredDistribution() {
            Expression[] divided = divided();
            if (Json.at(what.table.answer, "computed_partition").asBoolean()) {
                return (Distribution) Distributions.unspecified();
            }
            if (divided.length == 0) return (Distribution) Distributions.unspecified();
            return (Distribution) Distributions.clustered(divided);
        }

        public boolean distributionStrictlyRequired() {
            return false;
        }

        public SortOrder[] requiredOrdering() {
            JsonNode keys = Json.at(what.table.answer, "order");
            SortOrder[] all = new SortOrder[keys.size()];
            for (int i = 0; i < all.length; i++) {
                JsonNode key = Json.item(keys, i);
                all[i] = Expressions.sort(
                    key(key),
                    Json.at(key, "descending").asBoolean()
                        ? SortDirection.DESCENDING : SortDirection.ASCENDING,
                    Json.at(key, "nulls_first").asBoolean()
                        ? NullOrdering.NULLS_FIRST : NullOrdering.NULLS_LAST);
            }
            return all;
        }

        public BatchWrite toBatch() {
            return new LedgerBatch(what, false);
        }

        public StreamingWrite toStreaming() {
            return new StreamedBatch(what);
        }
    }
}
