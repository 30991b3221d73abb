package lakeledger;

import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Product;
import scala.jdk.javaapi.CollectionConverters;

/** Takes the option mergeSchema of a write into the ledger for WITH SCHEMA EVOLUTION. */
public class MergedSchema extends Rule {
    public TreeNode apply(TreeNode plan) {
        if (!(plan instanceof V2WriteCommand)) return plan;
        Product write = (Product) plan;
        Object[] parts = new Object[write.productArity()];
        int evolves = -1;
        boolean asks = false;
        for (int i = 0; i < parts.length; i++) {
            parts[i] = write.productElement(i);
            String name = write.productElementName(i);
            if (name.equals("withSchemaEvolution")) evolves = i;
            if (name.equals("writeOptions")) asks = asks((scala.collection.Map) parts[i]);
        }
        boolean isSo = evolves < 0 || Boolean.TRUE.equals(parts[evolves]);
        if (isSo || !asks || !isOfLedger(write.productElement(0))) return plan;
        parts[evolves] = Boolean.TRUE;
        return plan.makeCopy(parts);
    }

    private static boolean asks(scala.collection.Map options) {
        Map given = CollectionConverters.asJava(options);
        String said = new CaseInsensitiveStringMap(given).get("mergeSchema");
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
