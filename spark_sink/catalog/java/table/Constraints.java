package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.constraints.Check;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;

/** Constraints in questions and answers: kind, name, and the condition of a CHECK. */
final class Constraints {
    private Constraints() {}

    /** Spark lets NULL pass a CHECK, Delta does not: IS TRUE gives Spark the rule of Delta. */
    static Constraint[] asked(JsonNode constraints) {
        Constraint[] found = new Constraint[constraints.size()];
        for (int i = 0; i < found.length; i++) {
            JsonNode each = Questions.item(constraints, i);
            Check.Builder made = Constraint.check(Questions.text(each, "name"));
            found[i] = made.predicateSql("(" + Questions.text(each, "condition") + ") IS TRUE").build();
        }
        return found;
    }

    static ArrayNode told(Constraint[] constraints) {
        ArrayNode all = Questions.JSON.createArrayNode();
        for (int i = 0; i < constraints.length; i++) tell(all.addObject(), constraints[i]);
        return all;
    }

    private static void tell(ObjectNode told, Constraint constraint) {
        told.put("type", constraint.getClass().getSimpleName());
        told.put("name", constraint.name());
        if (constraint instanceof Check) told.put("condition", ((Check) constraint).predicateSql());
    }

    static void tell(ObjectNode told, TableChange change) {
        if (change instanceof TableChange.AddConstraint) {
            tell(told, ((TableChange.AddConstraint) change).constraint());
        } else if (change instanceof TableChange.DropConstraint) {
            TableChange.DropConstraint dropped = (TableChange.DropConstraint) change;
            told.put("name", dropped.name());
            told.put("if_exists", dropped.ifExists());
        }
    }
}
