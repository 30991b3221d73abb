package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Option;
import scala.runtime.AbstractFunction0;

/** The columns of a write whose values come from the definition of the table. */
final class ComputedColumns {
    private final JsonNode told;
    private final String catalog;
    private final String write;
    private final Attribute[] all;
    /** Whether rows come from the table itself, with the values of before. */
    private final boolean rewrites;

    ComputedColumns(JsonNode staged, String catalog, Attribute[] all, boolean rewrites) {
        this.told = Json.at(staged, "computed");
        this.write = Json.text(staged, "write");
        this.catalog = catalog;
        this.all = all;
        this.rewrites = rewrites;
    }

    /** The writers with the values; the given ones if no column is computed. */
    DataWriterFactory over(DataWriterFactory inner) {
        if (told.size() == 0) return inner;
        final Expression[] values = new Expression[all.length];
        final Numbers[] numbers = new Numbers[all.length];
        Expression broken = null;
        StringBuilder said = new StringBuilder();
        for (int i = 0; i < all.length; i++) {
            JsonNode each = told.get(all[i].name());
            if (each == null) continue;
            if (each.has("expression")) {
                values[i] = value(Json.text(each, "expression"), all[i]);
                said.append(said.length() == 0 ? "" : " and ").append(all[i].name());
                said.append(" <=> ").append(Json.text(each, "expression"));
                Expression column = (Expression) all[i];
                if (!rewrites) {
                    broken = either(broken, new And(
                        new IsNotNull(column), new Not(new EqualNullSafe(column, values[i]))));
                }
                if (!Json.at(each, "nullable").asBoolean()) {
                    broken = either(broken, new IsNull(values[i]));
                }
            } else {
                boolean own = rewrites || Json.at(each, "explicit").asBoolean();
                long id = Json.at(each, "id").asLong();
                DriverNumbers.start();
                numbers[i] = new Numbers(catalog, write, id, all[i].name(), own);
            }
        }
        String refusal = "each row must fulfil " + said + ", got a row that does not: leave the "
            + "generated column out";
        return new Computed(inner, all, values, broken, refusal, numbers);
    }

    private static Expression either(Expression one, Expression other) {
        return one == null ? other : new Or(one, other);
    }

    /** An expression over the columns in the type of its own column, as ANSI SQL stores it. */
    private Expression value(String text, Attribute column) {
        final String sql = "CAST((" + text + ") AS " + Columns.text(column.dataType()) + ")";
        final SparkSession session = Session.spark();
        SQLConf conf = session.sessionState().conf().clone();
        conf.setConfString("spark.sql.ansi.enabled", "true");
        final List rows = Arrays.asList(all);
        return (Expression) SQLConf$.MODULE$.withExistingConf(
            conf,
            new AbstractFunction0() {
                public Object apply() {
                    LogicalPlan none = new LocalRelation(
                        Scala.seq(rows), Scala.seq(new ArrayList()), false, Option.apply(null));
                    Dataset found = Dataset$.MODULE$.ofRows(session, none).selectExpr(
                        Scala.seq(Arrays.asList(new String[] {sql})));
                    LogicalPlan plan = (LogicalPlan) ReplaceExpressions$.MODULE$.apply(
                        found.queryExecution().analyzed());
                    return ((Alias) ((Project) plan).projectList().head()).child();
                }
            });
    }
}
