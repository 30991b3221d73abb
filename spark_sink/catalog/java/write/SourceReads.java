package lakeledger;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.unsafe.Platform;
import scala.runtime.AbstractFunction1;

/**
 * Whether a statement gets the same rows when Spark reads its sources again.
 *
 * Only what is known to repeat does: tables of the ledger, rows of the driver, and files, if they
 * are the same when the statement ends. All else may differ, and so may operators that choose
 * among rows in the order in which they come.
 */
final class SourceReads {
    private static final Set OPERATORS =
        new HashSet(
            Arrays.asList(
                "ReplaceData", "WriteDelta", "MergeRows", "Join", "Project", "Filter", "SubqueryAlias", "Union",
                "View", "LocalRelation", "OneRowRelation", "Range", "Aggregate", "Distinct", "Sort",
                "Intersect", "Except", "Generate", "Repartition", "RepartitionByExpression",
                "UnresolvedHint", "ResolvedHint", "WithCTE", "CTERelationDef", "CTERelationRef",
                "LateralJoin", "Expand"));
    private static final Set AGGREGATES =
        new HashSet(Arrays.asList("Count", "Min", "Max", "BoolAnd", "BoolOr"));
    private static final Set SUMS = new HashSet(Arrays.asList("Sum", "Average"));

    /** The files of sources, as they were listed. */
    private final List files = new ArrayList();
    final boolean repeat;

    SourceReads(LogicalPlan plan) {
        repeat = plan != null && repeats(plan);
    }

    private boolean repeats(LogicalPlan plan) {
        List inside = Scala.list(plan.children());
        inside.addAll(Scala.list(plan.innerChildren()));
        inside.addAll(Scala.list(plan.subqueries()));
        for (Object each : inside) {
            if (each instanceof LogicalPlan && !repeats((LogicalPlan) each)) return false;
        }
        return chosen(plan) && plan.expressions().find(new MayDiffer()).isEmpty();
    }

    private boolean chosen(LogicalPlan plan) {
        if (OPERATORS.contains(plan.getClass().getSimpleName().replace("$", ""))) return true;
        if (plan instanceof Deduplicate) {
            return ((Deduplicate) plan).keys().length() == plan.output().length();
        }
        if (plan instanceof LogicalRDD) return isKept(((LogicalRDD) plan).rdd());
        if (plan instanceof DataSourceV2Relation) {
            Object table = ((DataSourceV2Relation) plan).table();
            if (table instanceof RowLevelOperationTable) {
                table = ((RowLevelOperationTable) table).table();
            }
            return table instanceof FileRelation || table instanceof LedgerRows;
        }
        return plan instanceof LogicalRelation && areListed(((LogicalRelation) plan).relation());
    }

    /** Whether rows came from the driver, or were kept by a checkpoint. */
    private static boolean isKept(RDD rows) {
        if (rows.isCheckpointed()) return true;
        String kind = rows.getClass().getSimpleName();
        if (kind.equals("ParallelCollectionRDD")) return true;
        // Functions of Python make an RDD of another kind.
        if (!kind.equals("MapPartitionsRDD")) return false;
        List all = Scala.list(rows.dependencies());
        for (Object item : all) {
            if (!isKept(((Dependency) item).rdd())) return false;
        }
        return true;
    }

    private boolean areListed(Object relation) {
        if (!(relation instanceof HadoopFsRelation)) return false;
        Object index = ((HadoopFsRelation) relation).location();
        if (!(index instanceof InMemoryFileIndex)) return false;
        files.addAll(Scala.list(((InMemoryFileIndex) index).allFiles()));
        return true;
    }

    /** Refuses a statement whose source files are not those that were listed at its begin. */
    void checkFiles(Configuration configuration, String table) {
        Map there = new HashMap();
        try {
            for (Object item : files) {
                FileStatus listed = (FileStatus) item;
                Path folder = listed.getPath().getParent();
                if (!there.containsKey(folder)) there.put(folder, now(folder, configuration));
                Object now = ((Map) there.get(folder)).get(listed.getPath());
                if (now == null || !isSame(listed, (FileStatus) now)) throw changed(listed, table);
            }
        } catch (IOException problem) {
            Platform.throwException(problem);
        }
    }

    private static boolean isSame(FileStatus a, FileStatus b) {
        return a.getLen() == b.getLen() && a.getModificationTime() == b.getModificationTime();
    }

    private static Map now(Path folder, Configuration configuration) throws IOException {
        Map found = new HashMap();
        try {
            FileStatus[] all = folder.getFileSystem(configuration).listStatus(folder);
            for (int i = 0; i < all.length; i++) found.put(all[i].getPath(), all[i]);
        } catch (FileNotFoundException gone) {
            return found;
        }
        return found;
    }

    private static Refused changed(FileStatus listed, String table) {
        return new Refused(
            "LEDGER_UNSUPPORTED",
            "the files of a source must stay as they are while a statement writes table " + table
                + ", which may read them twice, got a change of " + listed.getPath()
                + ": run the statement again");
    }

    /** Whether an expression gives, or has in it what gives, another value for the same rows. */
    static class MayDiffer extends AbstractFunction1 {
        public Object apply(Object given) {
            Expression one = (Expression) given;
            if (isRowId(one)) return Boolean.FALSE;
            boolean found = one instanceof UserDefinedExpression
                || !one.deterministic()
                || one instanceof AggregateFunction && !isExact((AggregateFunction) one)
                || one.children().find(this).isDefined();
            return Boolean.valueOf(found);
        }

        /** Whether it is the number by which a MERGE tells rows of its target apart. */
        private static boolean isRowId(Expression one) {
            return one instanceof Alias
                && ((Alias) one).name().equals("__row_id")
                && ((Alias) one).child() instanceof MonotonicallyIncreasingID;
        }

        /** Whether the order of rows is no matter to an aggregate. */
        private static boolean isExact(AggregateFunction one) {
            String name = one.getClass().getSimpleName();
            if (AGGREGATES.contains(name)) return true;
            Object type = ((Expression) one).dataType();
            boolean rounds = type instanceof DoubleType || type instanceof FloatType;
            return SUMS.contains(name) && !rounds;
        }
    }
}
