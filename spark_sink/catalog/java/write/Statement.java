package lakeledger;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.DeleteAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertAction;
import org.apache.spark.sql.catalyst.plans.logical.InsertStarAction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.UpdateAction;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The statement that this thread runs, as far as Spark tells it. */
final class Statement {
    private Statement() {}

    /** The analysed plan of an execution, null outside of one. */
    private static LogicalPlan plan(String key) {
        String id = Session.local(key);
        if (id == null) return null;
        QueryExecution found = SQLExecution$.MODULE$.getQueryExecution(Long.parseLong(id));
        return found == null ? null : found.analyzed();
    }

    private static LogicalPlan plan() {
        return plan(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
    }

    /** Whether it is more than a query, or a part of more: its rows stay somewhere. */
    static boolean writes() {
        return plan() instanceof Command
            || plan(SQLExecution$.MODULE$.EXECUTION_ROOT_ID_KEY()) instanceof Command;
    }

    /** The options of the write that replaces a table, null for any other statement. */
    static Map replaces() {
        LogicalPlan plan = plan();
        if (plan instanceof ReplaceTable) return new HashMap();
        if (!(plan instanceof ReplaceTableAsSelect)) return null;
        return CollectionConverters.asJava(((ReplaceTableAsSelect) plan).writeOptions());
    }

    /** What is known of reading its sources again. */
    static SourceReads sources() {
        return new SourceReads(plan());
    }

    /** Refuses an UPDATE or a MERGE that gives a computed column a value. */
    static void checkAssigned(LedgerTable table) {
        String id = Session.local(SQLExecution$.MODULE$.EXECUTION_ID_KEY());
        QueryExecution found =
            id == null ? null : SQLExecution$.MODULE$.getQueryExecution(Long.parseLong(id));
        if (found != null) checkAssigned(found.logical(), table);
    }

    private static void checkAssigned(LogicalPlan plan, LedgerTable table) {
        if (plan instanceof UpdateTable) check(((UpdateTable) plan).assignments(), table, false);
        if (plan instanceof MergeIntoTable) {
            MergeIntoTable merge = (MergeIntoTable) plan;
            List actions = new ArrayList(Scala.list(merge.matchedActions()));
            actions.addAll(Scala.list(merge.notMatchedActions()));
            actions.addAll(Scala.list(merge.notMatchedBySourceActions()));
            for (Object action : actions) {
                if (action instanceof UpdateAction) {
                    check(((UpdateAction) action).assignments(), table, false);
                } else if (action instanceof InsertAction) {
                    check(((InsertAction) action).assignments(), table, true);
                } else if (!(action instanceof DeleteAction)) {
                    StructField[] fields = table.schema.fields();
                    boolean inserts = action instanceof InsertStarAction;
                    for (int i = 0; i < fields.length; i++) check(fields[i], table, inserts);
                }
            }
        }
        for (Object child : Scala.list(plan.children())) {
            checkAssigned((LogicalPlan) child, table);
        }
    }

    private static void check(Seq assignments, LedgerTable table, boolean inserts) {
        for (Object item : Scala.list(assignments)) {
            Object key = ((Assignment) item).key();
            if (!(key instanceof NamedExpression)) continue;
            List parts = key instanceof UnresolvedAttribute
                ? Scala.list(((UnresolvedAttribute) key).nameParts())
                : Collections.singletonList(((NamedExpression) key).name());
            String name = (String) parts.get(parts.size() - 1);
            StructField[] fields = table.schema.fields();
            for (int i = 0; i < fields.length; i++) {
                if (fields[i].name().equalsIgnoreCase(name)) check(fields[i], table, inserts);
            }
        }
    }

    private static void check(StructField field, LedgerTable table, boolean inserts) {
        Metadata known = field.metadata();
        boolean isNumber = known.contains("identity.start");
        boolean mayBeGiven =
            isNumber && inserts && known.getBoolean("identity.allowExplicitInsert");
        if (mayBeGiven || !(isNumber || known.contains("GENERATION_EXPRESSION"))) return;
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            "column " + field.name() + " of table " + table.name() + " is computed, and the "
                + "statement gives it a value: name the other columns");
    }

    /** Whether its condition has a query in it. */
    static boolean asks() {
        LogicalPlan plan = plan();
        return plan instanceof ReplaceData
            && SubqueryExpression$.MODULE$.hasSubquery(((ReplaceData) plan).condition());
    }
}
