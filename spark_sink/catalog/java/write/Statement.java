package lakeledger;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceData;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
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

    /** The path that the write gives which makes a new table, "" for none. */
    static String path() {
        LogicalPlan plan = plan();
        if (!(plan instanceof CreateTableAsSelect)) return "";
        Map given = CollectionConverters.asJava(((CreateTableAsSelect) plan).writeOptions());
        Object path = given.get("path");
        return path == null ? "" : path.toString();
    }

    /** What is known of reading its sources again. */
    static SourceReads sources() {
        return new SourceReads(plan());
    }

    /** Refuses an UPDATE or a MERGE that gives a computed column a value. */
    static void checkAssigned(LedgerTable table) {
        LogicalPlan plan = plan();
        if (plan instanceof RowLevelWrite) new Assigned(table).check(((RowLevelWrite) plan).query());
    }

    /** Whether its condition has a query in it. */
    static boolean asks() {
        LogicalPlan plan = plan();
        return plan instanceof ReplaceData
            && SubqueryExpression$.MODULE$.hasSubquery(((ReplaceData) plan).condition());
    }
}
