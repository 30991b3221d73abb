package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/** A procedure for CALL. Its parameters come from Python; one without a value is NULL. */
class LedgerProcedure implements UnboundProcedure, BoundProcedure {
    private final LedgerCatalog catalog;
    private final JsonNode answer;
    private final StructType parameters;

    LedgerProcedure(LedgerCatalog catalog, JsonNode answer) {
        this.catalog = catalog;
        this.answer = answer;
        this.parameters = Columns.fromJson(Json.at(answer, "parameters"));
    }

    public String name() {
        return Json.text(answer, "name");
    }

    public String description() {
        return Json.text(answer, "description");
    }

    public BoundProcedure bind(StructType given) {
        return this;
    }

    public boolean isDeterministic() {
        return false;
    }

    public ProcedureParameter[] parameters() {
        ProcedureParameter[] all = new ProcedureParameter[parameters.length()];
        for (int i = 0; i < all.length; i++) {
            ProcedureParameter.Builder made = ProcedureParameter.in(
                parameters.fields()[i].name(), parameters.fields()[i].dataType());
            if (parameters.fields()[i].nullable()) made.defaultValue("NULL");
            all[i] = made.build();
        }
        return all;
    }

    public Iterator<Scan> call(InternalRow given) {
        ObjectNode asked = Json.object().put("name", name());
        ArrayNode values = asked.putArray("values");
        for (int i = 0; i < given.numFields(); i++) {
            if (given.isNullAt(i)) {
                values.addNull();
            } else {
                values.add(given.get(i, parameters.fields()[i].dataType()).toString());
            }
        }
        Scan rows = new LedgerRows(catalog, answer(asked));
        return (Iterator) Collections.singletonList(rows).iterator();
    }

    /** The rows of a call; one about the txn of the session lets the session join or leave it. */
    private JsonNode answer(ObjectNode asked) {
        String txn = Json.text(answer, "txn");
        if (txn.equals("script")) return inOneTxn(Json.item(Json.at(asked, "values"), 0).asText());
        if (txn.equals("ends")) {
            try {
                return catalog.ask("call", asked);
            } finally {
                Session.leave();
            }
        }
        JsonNode found = catalog.ask("call", asked);
        if (txn.equals("begins")) Session.join(Json.text(found, "key"));
        return found;
    }

    /** Runs the statements of a script as one txn, in this thread. */
    private JsonNode inOneTxn(String script) {
        Session.joinAlone(Json.text(catalog.ask("call", named("begin")), "key"));
        try {
            Session.spark().sql("BEGIN " + script + "\n END");
            return catalog.ask("call", named("commit"));
        } catch (Throwable problem) {
            try {
                catalog.ask("call", named("rollback"));
            } catch (Throwable second) {
                problem.addSuppressed(second);
            }
            Platform.throwException(problem);
            return null;
        } finally {
            Session.joinAlone(null);
        }
    }

    private static ObjectNode named(String procedure) {
        ObjectNode asked = Json.object().put("name", procedure);
        asked.putArray("values");
        return asked;
    }
}
