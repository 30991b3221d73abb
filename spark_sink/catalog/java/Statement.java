package lakeledger;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;

/** The statement that this thread runs, as far as Spark tells it. */
final class Statement {
    private Statement() {}

    /** The analysed plan of an execution, null outside of one. */
    private static LogicalPlan plan(String key) {
        String id = Questions.local(key);
        if (id.isEmpty()) return null;
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

    /**
     * Whether all that it reads has the same rows when Spark reads it again. A function of a user
     * may give another value each time; what says so of itself is refused by Spark.
     */
    static boolean repeats() {
        LogicalPlan plan = plan();
        return plan != null && repeats(plan);
    }

    private static boolean repeats(LogicalPlan plan) {
        List inside = Questions.list(plan.children());
        inside.addAll(Questions.list(plan.innerChildren()));
        inside.addAll(Questions.list(plan.subqueries()));
        for (Iterator i = inside.iterator(); i.hasNext();) {
            Object each = i.next();
            if (each instanceof LogicalPlan && !repeats((LogicalPlan) each)) return false;
        }
        return plan.expressions().find(new HasFunction()).isEmpty();
    }

    /** Whether an expression is, or has in it, a function of a user. */
    static class HasFunction extends AbstractFunction1 {
        public Object apply(Object given) {
            boolean found = given instanceof UserDefinedExpression
                || ((Expression) given).children().find(this).isDefined();
            return Boolean.valueOf(found);
        }
    }
}
