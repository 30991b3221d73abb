package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NoSuchViewException;
import org.apache.spark.sql.catalyst.analysis.ViewAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.Relation;
import org.apache.spark.sql.connector.catalog.RelationCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TransactionalCatalogPlugin;
import org.apache.spark.sql.connector.catalog.View;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.catalog.transactions.Transaction;
import org.apache.spark.sql.connector.catalog.transactions.TransactionInfo;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * The catalog of a ledger. Python answers every question; here the answers become Spark's objects.
 * Nothing is decided here.
 *
 * A statement that writes has a txn of the ledger, and a copy of the catalog that knows it.
 */
public class LedgerCatalog
    implements RelationCatalog, SupportsNamespaces, TransactionalCatalogPlugin, ProcedureCatalog,
        FunctionCatalog {
    private String name;
    private String txn = "";

    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    public String name() {
        return name;
    }

    JsonNode ask(String word, ObjectNode asked) {
        return PythonCall.ask(name, txn, word, asked);
    }

    private static ObjectNode named(String[] space) {
        return Json.object().put("name", String.join(".", space));
    }

    private static ObjectNode about(Identifier table) {
        return Json.object().put("table", Identifiers.name(table));
    }

    public Set<TableCatalogCapability> capabilities() {
        return EnumSet.of(
            TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE,
            TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_GENERATED_COLUMNS,
            TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_IDENTITY_COLUMNS,
            TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
    }

    // Namespaces.

    public String[][] listNamespaces() {
        return listNamespaces(new String[0]);
    }

    public String[][] listNamespaces(String[] within) {
        String[] found = Json.texts(ask("namespaces", named(within)));
        String[][] names = new String[found.length][];
        for (int i = 0; i < found.length; i++) names[i] = found[i].split("\\.");
        return names;
    }

    public boolean namespaceExists(String[] space) {
        return space.length == 0 || ask("namespace_exists", named(space)).asBoolean();
    }

    public Map<String, String> loadNamespaceMetadata(String[] space)
        throws NoSuchNamespaceException {
        if (!namespaceExists(space)) throw new NoSuchNamespaceException(space);
        return Json.map(ask("namespace", named(space)));
    }

    public void createNamespace(String[] space, Map<String, String> properties) {
        ObjectNode asked = named(space);
        asked.set("properties", Json.tree(properties));
        ask("create_namespace", asked);
    }

    public void alterNamespace(String[] space, NamespaceChange... changes) {
        ObjectNode asked = named(space);
        ObjectNode properties = asked.putObject("properties");
        ArrayNode unset = asked.putArray("unset");
        for (int i = 0; i < changes.length; i++) {
            if (changes[i] instanceof NamespaceChange.SetProperty) {
                NamespaceChange.SetProperty set = (NamespaceChange.SetProperty) changes[i];
                properties.put(set.property(), set.value());
            } else {
                unset.add(((NamespaceChange.RemoveProperty) changes[i]).property());
            }
        }
        ask("alter_namespace", asked);
    }

    public boolean dropNamespace(String[] space, boolean cascade) {
        return ask("drop_namespace", named(space).put("cascade", cascade)).asBoolean();
    }

    // Tables.

    public Identifier[] listTables(String[] space) {
        String[] found = Json.texts(ask("tables", named(space)));
        Identifier[] tables = new Identifier[found.length];
        for (int i = 0; i < found.length; i++) tables[i] = Identifier.of(space, found[i]);
        return tables;
    }

    public Relation loadRelation(Identifier relation) throws NoSuchTableException {
        JsonNode found = ask("table", about(relation));
        return found.has("view") ? (Relation) Views.fromJson(found) : (Relation) tableOf(found);
    }

    public Table loadTable(Identifier table, String version) throws NoSuchTableException {
        ReadOptions.checkTravel(this, "versionAsOf", version);
        return loaded(about(table).put("version", version));
    }

    public Table loadTable(Identifier table, long micros) throws NoSuchTableException {
        ReadOptions.checkTravel(this, "timestampAsOf", micros + " microseconds since 1970");
        return loaded(about(table).put("micros", micros));
    }

    private Table loaded(ObjectNode asked) {
        return tableOf(ask("table", asked));
    }

    private Table tableOf(JsonNode found) {
        if (found.has("rows")) return new LedgerRows(this, found);
        if (found.has("constants")) return new LedgerChanges(this, found);
        return new LedgerTable(this, found);
    }

    public Changelog loadChangelog(
        Identifier table, ChangelogContext context, CaseInsensitiveStringMap options)
        throws NoSuchTableException {
        Table found = loadTable(table);
        if (!(found instanceof LedgerTable)) throw new NoSuchTableException(table);
        Identifier changes = Identifiers.of(Identifiers.name(table) + ".changes");
        return new LedgerChangelog((LedgerChanges) loadTable(changes), context);
    }

    public boolean tableExists(Identifier table) {
        return ask("exists", about(table)).asBoolean();
    }

    public Table createTable(Identifier table, TableInfo info) {
        return created(table, Columns.withValues(info), info.partitions(), info);
    }

    public Table createTableLike(Identifier table, TableInfo info, Table like) {
        return created(table, like.schema(), like.partitioning(), info);
    }

    private Table created(
        Identifier table, StructType schema, Transform[] partitions, TableInfo info) {
        ObjectNode asked = about(table).put("path", Statement.path());
        asked.set("columns", Columns.toJson(schema));
        asked.set("properties", Json.tree(info.properties()));
        asked.set("constraints", Constraints.toJson(info.constraints()));
        Map replaces = Statement.replaces();
        if (replaces != null) asked.set("replaces", Json.tree(replaces));
        asked.set("partition", Transforms.toJson(partitions));
        return new LedgerTable(this, ask("create", asked));
    }

    /** Spark makes the new schema; Python keeps the ids of columns by the list of changes. */
    public Table alterTable(Identifier table, TableChange... changes) {
        LedgerTable before = new LedgerTable(this, ask("table", about(table)));
        StructType after = CatalogV2Util.applySchemaChanges(
            before.schema(), Scala.seq(Arrays.asList(changes)), Option.apply("parquet"),
            "ALTER TABLE");
        ObjectNode asked = about(table).put("position", before.position());
        asked.put("zone", Session.zone()).set("columns", Columns.toJson(after));
        ArrayNode told = asked.putArray("changes");
        for (int i = 0; i < changes.length; i++) told.add(Columns.toJson(changes[i]));
        return new LedgerTable(this, ask("alter", asked));
    }

    /** A statement that replaces a table drops and creates it at once. */
    public boolean dropTable(Identifier table) {
        if (Statement.replaces() != null) return true;
        return ask("drop", about(table)).asBoolean();
    }

    /** A snapshot or a reader of an earlier version may need the files of the table. */
    public boolean purgeTable(Identifier table) {
        String of = Identifiers.name(table);
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            "DROP TABLE ... PURGE must not delete files that open snapshots need. Drop the table "
                + "without PURGE; then CALL " + name + ".system.vacuum(table => '" + of
                + "', older_than_h => 0) deletes its files");
    }

    /** The new name may begin with that of the catalog. */
    public void renameTable(Identifier table, Identifier to) {
        String given = Identifiers.name(to);
        String own = name + ".";
        String after = given.startsWith(own) ? given.substring(own.length()) : given;
        ask("rename", about(table).put("to", after));
    }

    // Views.

    public Identifier[] listViews(String[] space) {
        String[] found = Json.texts(ask("views", named(space)));
        Identifier[] views = new Identifier[found.length];
        for (int i = 0; i < found.length; i++) views[i] = Identifier.of(space, found[i]);
        return views;
    }

    public View createView(Identifier name, View view) throws ViewAlreadyExistsException {
        return Views.fromJson(ask("create_view", Views.toJson(view, about(name))));
    }

    public View replaceView(Identifier name, View view) throws NoSuchViewException {
        return Views.fromJson(ask("replace_view", Views.toJson(view, about(name))));
    }

    public boolean dropView(Identifier view) {
        return viewExists(view) && ask("drop", about(view).put("view", true)).asBoolean();
    }

    public void renameView(Identifier view, Identifier to) {
        renameTable(view, to);
    }

    // Txns.

    public Transaction beginTransaction(TransactionInfo info) {
        return new StatementTxn(name, ask("begin", Json.object()).asText());
    }

    static class StatementTxn implements Transaction {
        private final LedgerCatalog own = new LedgerCatalog();

        StatementTxn(String name, String txn) {
            own.name = name;
            own.txn = txn;
        }

        public CatalogPlugin catalog() {
            return own;
        }

        public void commit() {
            own.ask("commit", Json.object());
        }

        public void abort() {
            own.ask("abort", Json.object());
        }

        public boolean registerScans(Scan[] scans) {
            return true;
        }

        public void close() {
            own.ask("close", Json.object());
        }
    }

    // Functions: those by which Spark brings rows together before they are written.

    public Identifier[] listFunctions(String[] space) {
        return new Identifier[0];
    }

    public UnboundFunction loadFunction(Identifier function) throws NoSuchFunctionException {
        boolean isPlain = function.namespace().length == 0;
        PartitionFunction found = isPlain ? PartitionFunction.named(function.name()) : null;
        if (found == null) throw new NoSuchFunctionException(function);
        return (UnboundFunction) found;
    }

    // Procedures.

    public Identifier[] listProcedures(String[] space) {
        String[] found = Json.texts(ask("procedures", Json.object()));
        Identifier[] names = new Identifier[found.length];
        for (int i = 0; i < found.length; i++) names[i] = Identifier.of(space, found[i]);
        return names;
    }

    public UnboundProcedure loadProcedure(Identifier procedure) {
        ObjectNode asked = Json.object().put("name", Identifiers.name(procedure));
        return new LedgerProcedure(this, ask("procedure", asked));
    }
}
