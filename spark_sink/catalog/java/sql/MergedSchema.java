package lakeledger;

import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Takes the option mergeSchema of a write into the ledger for WITH SCHEMA EVOLUTION, and refuses
 * overwriteSchema where a write keeps the table.
 */
public class MergedSchema extends Rule {
    public TreeNode apply(TreeNode plan) {
        if (!(plan instanceof V2WriteCommand)) return plan;
        Product write = (Product) plan;
        Object[] parts = new Object[write.productArity()];
        int evolves = -1;
        boolean asks = false;
        boolean replaces = false;
        for (int i = 0; i < parts.length; i++) {
            parts[i] = write.productElement(i);
            String name = write.productElementName(i);
            if (name.equals("withSchemaEvolution")) evolves = i;
            if (!name.equals("writeOptions")) continue;
            asks = asks((scala.collection.Map) parts[i], "mergeSchema");
            replaces = asks((scala.collection.Map) parts[i], "overwriteSchema");
        }
        if (!(asks || replaces) || !isOfLedger(parts[0])) return plan;
        if (replaces && plan instanceof OverwriteByExpression) checkColumns((V2WriteCommand) plan);
        if (!asks || evolves < 0 || Boolean.TRUE.equals(parts[evolves])) return plan;
        parts[evolves] = Boolean.TRUE;
        return plan.makeCopy(parts);
    }

    private static void checkColumns(V2WriteCommand write) {
        if (!(write.table() instanceof DataSourceV2Relation) || !write.query().resolved()) return;
        Table table = ((DataSourceV2Relation) write.table()).table();
        String[] given = write.query().schema().fieldNames();
        if (Arrays.equals(given, ((LedgerTable) table).schema.fieldNames())) return;
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            "overwriteSchema must be left out of a write that keeps the columns of table "
                + table.name() + ", got true: use df.write.mode('overwrite')"
                + ".option('overwriteSchema', 'true').saveAsTable('" + table.name() + "')");
    }

    private static boolean asks(scala.collection.Map options, String name) {
        Map given = CollectionConverters.asJava(options);
        String said = new CaseInsensitiveStringMap(given).get(name);
        return said != null && said.trim().equalsIgnoreCase("true");
    }

    private static boolean isOfLedger(Object table) {
        if (table instanceof DataSourceV2Relation) {
            return ((DataSourceV2Relation) table).table() instanceof LedgerTable;
        }
        if (!(table instanceof UnresolvedRelation)) return false;
        String first = (String) ((UnresolvedRelation) table).multipartIdentifier().head();
        CatalogManager manager = Session.spark().sessionState().catalogManager();
        boolean isNamed = manager.isCatalogRegistered(first);
        return (isNamed ? manager.catalog(first) : manager.currentCatalog())
            instanceof LedgerCatalog;
    }
}
