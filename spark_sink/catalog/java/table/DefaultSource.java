package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsCatalogOptions;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;

/**
 * The format lakeledger: load and save name a table, as ledger.db.sales. Spark finds the class by
 * the name of its package.
 */
public class DefaultSource implements SupportsCatalogOptions, DataSourceRegister {
    public String shortName() {
        return "lakeledger";
    }

    public boolean supportsExternalMetadata() {
        return true;
    }

    public String extractCatalog(CaseInsensitiveStringMap options) {
        return Json.text(named(options), "catalog");
    }

    /** The table, or its changes for the option of Delta that asks for them. */
    public Identifier extractIdentifier(CaseInsensitiveStringMap options) {
        String table = Json.text(named(options), "table");
        boolean changes = options.getBoolean("readChangeFeed", false);
        return Identifiers.of(changes ? table + ".changes" : table);
    }

    public Optional<String> extractTimeTravelVersion(CaseInsensitiveStringMap options) {
        return Optional.ofNullable(options.get("versionAsOf"));
    }

    public Optional<String> extractTimeTravelTimestamp(CaseInsensitiveStringMap options) {
        return Optional.ofNullable(options.get("timestampAsOf"));
    }

    private static JsonNode named(CaseInsensitiveStringMap options) {
        String name = options.get("path");
        if (name == null) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "format lakeledger must name a table of a ledger with its catalog, as "
                    + "saveAsTable('ledger.db.sales') or load('ledger.db.sales'), got none");
        }
        SparkSession session = Session.spark();
        ObjectNode asked = Names.place(session);
        try {
            List parts = Scala.list(session.sessionState().sqlParser().parseMultipartIdentifier(name));
            asked.set("parts", Json.tree(parts));
            ArrayNode catalogs = asked.putArray("catalogs");
            if (parts.size() > 1 && Names.isCatalog(session, (String) parts.get(0))) {
                catalogs.add((String) parts.get(0));
            }
        } catch (ParseException problem) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "format lakeledger must name a table, as load('ledger.db.sales'), got '" + name
                    + "': a table has one location, and is not found by it. Use "
                    + "spark.read.parquet or df.write.parquet for other files");
        }
        return PythonCall.ask("", "", "named", asked);
    }

    // A stream asks for the table itself.

    private Table table(CaseInsensitiveStringMap options) {
        try {
            LedgerCatalog catalog =
                (LedgerCatalog)
                    Session.spark().sessionState().catalogManager()
                        .catalog(extractCatalog(options));
            return catalog.loadTable(extractIdentifier(options));
        } catch (Throwable problem) {
            Platform.throwException(problem);
            return null;
        }
    }

    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return table(options).schema();
    }

    public Table getTable(StructType schema, Transform[] partitions, Map<String, String> given) {
        Table found = table(new CaseInsensitiveStringMap(given));
        if (found instanceof LedgerTable) ((LedgerTable) found).byFormat = true;
        return found;
    }
}
