package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;

/** What Python needs to know which table a name means: the place of a session, and its catalogs. */
final class Names {
    private Names() {}

    /** The current catalog and schema. */
    static ObjectNode place(SparkSession session) {
        CatalogManager manager = session.sessionState().catalogManager();
        ObjectNode told = Json.object().put("current", manager.currentCatalog().name());
        told.set("space", Json.tree(manager.currentNamespace()));
        return told;
    }

    /** The tokens before a dot that are names of catalogs. */
    static ArrayNode catalogs(SparkSession session, ArrayNode tokens) {
        ArrayNode told = Json.array();
        for (int i = 0; i + 1 < tokens.size(); i++) {
            String text = Json.text(Json.item(tokens, i), "text");
            if (!Json.text(Json.item(tokens, i + 1), "text").equals(".")) continue;
            if (isCatalog(session, text)) told.add(text);
        }
        return told;
    }

    static boolean isCatalog(SparkSession session, String name) {
        return session.sessionState().catalogManager().isCatalogRegistered(name);
    }
}
