package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.catalog.constraints.Check;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;

/** Constraints in questions and answers: kind, name, and the condition of a CHECK. */
final class Constraints {
    private Constraints() {}

    /** Spark lets NULL pass a CHECK, Delta does not: IS TRUE gives Spark the rule of Delta. */
    static Constraint[] fromJson(JsonNode constraints) {
        Constraint[] found = new Constraint[constraints.size()];
        for (int i = 0; i < found.length; i++) {
            JsonNode each = Json.item(constraints, i);
            Check.Builder made = Constraint.check(Json.text(each, "name"));
            found[i] = made.predicateSql("(" + Json.text(each, "condition") + ") IS TRUE").build();
        }
        return found;
    }

    static ArrayNode toJson(Constraint[] constraints) {
        ArrayNode all = Json.array();
        for (int i = 0; i < constraints.length; i++) all.add(toJson(constraints[i]));
        return all;
    }

    static ObjectNode toJson(Constraint constraint) {
        ObjectNode told = Json.object();
        told.put("type", constraint.getClass().getSimpleName()).put("name", constraint.name());
        if (constraint instanceof Check) told.put("condition", ((Check) constraint).predicateSql());
        return told;
    }
}
