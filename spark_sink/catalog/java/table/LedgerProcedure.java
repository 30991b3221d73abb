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
        Scan rows = new LedgerRows(catalog, catalog.ask("call", asked));
        return (Iterator) Collections.singletonList(rows).iterator();
    }
}
