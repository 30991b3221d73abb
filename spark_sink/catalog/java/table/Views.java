package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.catalog.View;

/** Views in questions and answers. */
final class Views {
    private Views() {}

    static View fromJson(JsonNode found) {
        JsonNode told = Json.at(found, "view");
        View.Builder made = new View.Builder();
        made.withSchema(Columns.fromJson(Json.at(found, "columns")));
        made.withProperties(Json.map(Json.at(found, "properties")));
        made.withQueryText(Json.text(told, "text"));
        made.withCurrentCatalog(Json.text(told, "catalog"));
        made.withCurrentNamespace(Json.texts(Json.at(told, "namespace")));
        made.withSqlConfigs(Json.map(Json.at(told, "configs")));
        made.withQueryColumnNames(Json.texts(Json.at(told, "names")));
        String mode = Json.text(told, "mode");
        if (!mode.isEmpty()) made.withSchemaMode(mode);
        return made.build();
    }

    static ObjectNode toJson(View view, ObjectNode asked) {
        asked.set("columns", Columns.toJson(view.schema()));
        asked.set("properties", Json.tree(view.properties()));
        ObjectNode told = asked.putObject("view");
        told.put("text", view.queryText()).put("catalog", view.currentCatalog());
        told.put("mode", view.schemaMode() == null ? "" : view.schemaMode());
        told.set("namespace", Json.tree(view.currentNamespace()));
        told.set("configs", Json.tree(view.sqlConfigs()));
        told.set("names", Json.tree(view.queryColumnNames()));
        return asked;
    }
}
