package lakeledger;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;

/** Refuses an UPDATE or a MERGE that gives a computed column a value, by the plan that Spark made. */
final class Assigned {
    private final LedgerTable table;

    Assigned(LedgerTable table) {
        this.table = table;
    }

    void check(LogicalPlan plan) {
        if (plan instanceof Project) {
            for (Object item : Scala.list(((Project) plan).projectList())) {
                if (!(item instanceof Alias)) continue;
                Alias named = (Alias) item;
                if (isSet(named)) check(named.name(), false);
            }
        }
        if (plan instanceof MergeRows) check((MergeRows) plan);
        for (Object child : Scala.list(plan.children())) check((LogicalPlan) child);
    }

    /** Rows that do not fulfil the condition keep the column, which says which one it is. */
    private static boolean isSet(Alias named) {
        Expression value = named.child();
        if (value instanceof If) {
            If choice = (If) value;
            return !choice.trueValue().semanticEquals(choice.falseValue());
        }
        return !(value instanceof Attribute)
            || !((Attribute) value).name().equalsIgnoreCase(named.name());
    }

    private void check(MergeRows merge) {
        List columns = Scala.list(merge.output());
        List kept = null;
        for (Object item : Scala.list(merge.instructions())) {
            if (isOf(item, "Copy")) kept = Scala.list(((MergeRows.Keep) item).output());
        }
        if (kept == null) kept = before(merge);
        for (Object item : Scala.list(merge.instructions())) {
            boolean inserts = isOf(item, "Insert");
            if (!inserts && !isOf(item, "Update")) continue;
            List values = Scala.list(((MergeRows.Keep) item).output());
            for (int i = 0; i < columns.size(); i++) {
                Expression value = (Expression) values.get(i);
                boolean same = inserts
                    ? value instanceof Literal && ((Literal) value).value() == null
                    : i < kept.size() && value.semanticEquals((Expression) kept.get(i));
                if (!same) check(((Attribute) columns.get(i)).name(), inserts);
            }
        }
    }

    /** The columns of the target as they were, behind that of the operation: no row is copied. */
    private static List before(MergeRows merge) {
        List found = new ArrayList();
        found.add(merge.output().head());
        for (Object item : Scala.list(merge.collectLeaves())) {
            if (!(item instanceof DataSourceV2Relation)) continue;
            DataSourceV2Relation leaf = (DataSourceV2Relation) item;
            if (!(leaf.table() instanceof RowLevelOperationTable)) continue;
            found.addAll(Scala.list(leaf.output()));
        }
        return found;
    }

    private static boolean isOf(Object instruction, String context) {
        return instruction instanceof MergeRows.Keep
            && ((MergeRows.Keep) instruction).context().toString().equals(context);
    }

    private void check(String column, boolean inserts) {
        StructField[] fields = table.schema.fields();
        for (int i = 0; i < fields.length; i++) {
            if (!fields[i].name().equalsIgnoreCase(column)) continue;
            Metadata known = fields[i].metadata();
            boolean isNumber = known.contains("identity.start");
            if (isNumber && inserts && known.getBoolean("identity.allowExplicitInsert")) continue;
            if (!isNumber && !known.contains("GENERATION_EXPRESSION")) continue;
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "column " + column + " of table " + table.name() + " is computed, and the "
                    + "statement gives it a value: name the other columns");
        }
    }
}
