package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.TransactionalCatalogPlugin;
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
public class Bridge
    implements TableCatalog, SupportsNamespaces, TransactionalCatalogPlugin, ProcedureCatalog {
    private String name;
    private String txn = "";

    public static void setBackend(BiFunction function) {
        Questions.setBackend(function);
    }

    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    public String name() {
        return name;
    }

    JsonNode ask(String word, ObjectNode asked) {
        return Questions.ask(name, txn, word, asked);
    }

    public Set<TableCatalogCapability> capabilities() {
        return EnumSet.of(
            TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE,
            TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
    }

    // Namespaces.

    public String[] defaultNamespace() {
        return new String[0];
    }

    public String[][] listNamespaces() {
        return listNamespaces(new String[0]);
    }

    public String[][] listNamespaces(String[] within) {
        ObjectNode asked = Questions.question();
        asked.put("name", String.join(".", within));
        String[] found = Questions.texts(ask("namespaces", asked));
        String[][] names = new String[found.length][];
        for (int i = 0; i < found.length; i++) names[i] = found[i].split("\\.");
        return names;
    }

    public boolean namespaceExists(String[] space) {
        if (space.length == 0) return true;
        ObjectNode asked = Questions.question();
        asked.put("name", String.join(".", space));
        return ask("namespace_exists", asked).asBoolean();
    }

    public Map<String, String> loadNamespaceMetadata(String[] space)
        throws NoSuchNamespaceException {
        if (!namespaceExists(space)) throw new NoSuchNamespaceException(space);
        return new HashMap<String, String>();
    }

    public void createNamespace(String[] space, Map<String, String> properties) {
        ObjectNode asked = Questions.question();
        asked.put("name", String.join(".", space));
        asked.set("properties", (JsonNode) Questions.JSON.valueToTree(properties));
        ask("create_namespace", asked);
    }

    public void alterNamespace(String[] space, NamespaceChange... changes) {
        throw new Refused("LEDGER_UNSUPPORTED", "a schema of the ledger has no properties");
    }

    public boolean dropNamespace(String[] space, boolean cascade) {
        ObjectNode asked = Questions.question();
        asked.put("name", String.join(".", space));
        asked.put("cascade", cascade);
        return ask("drop_namespace", asked).asBoolean();
    }

    // Tables.

    public Identifier[] listTables(String[] space) {
        ObjectNode asked = Questions.question();
        asked.put("name", String.join(".", space));
        String[] found = Questions.texts(ask("tables", asked));
        Identifier[] tables = new Identifier[found.length];
        for (int i = 0; i < found.length; i++) tables[i] = Identifier.of(space, found[i]);
        return tables;
    }

    public Table loadTable(Identifier table) throws NoSuchTableException {
        return loaded(Questions.about(table));
    }

    public Table loadTable(Identifier table, Set<TableWritePrivilege> privileges)
        throws NoSuchTableException {
        return loaded(Questions.about(table));
    }

    public Table loadTable(Identifier table, String version) throws NoSuchTableException {
        ReadOptions.checkTravel(this, "versionAsOf", version);
        ObjectNode asked = Questions.about(table);
        asked.put("version", version);
        return loaded(asked);
    }

    public Table loadTable(Identifier table, long micros) throws NoSuchTableException {
        ReadOptions.checkTravel(this, "timestampAsOf", micros + " microseconds since 1970");
        ObjectNode asked = Questions.about(table);
        asked.put("micros", micros);
        return loaded(asked);
    }

    private Table loaded(ObjectNode asked) {
        JsonNode found = ask("table", asked);
        if (found.has("rows")) return new LedgerRows(this, found);
        if (found.has("constants")) return new LedgerChanges(this, found);
        return new LedgerTable(this, found);
    }

    public Changelog loadChangelog(
        Identifier table, ChangelogContext context, CaseInsensitiveStringMap options)
        throws NoSuchTableException {
        Table found = loadTable(table);
        if (!(found instanceof LedgerTable)) throw new NoSuchTableException(table);
        Identifier changes = Questions.identifier(Questions.name(table) + ".changes");
        return new LedgerChangelog((LedgerChanges) loadTable(changes), context);
    }

    public boolean tableExists(Identifier table) {
        return ask("exists", Questions.about(table)).asBoolean();
    }

    public Table createTable(Identifier table, TableInfo info) {
        return created(table, info.schema(), info.partitions(), info);
    }

    public Table createTableLike(Identifier table, TableInfo info, Table like) {
        return created(table, like.schema(), like.partitioning(), info);
    }

    private Table created(
        Identifier table, StructType schema, Transform[] partitions, TableInfo info) {
        ObjectNode asked = Questions.about(table);
        asked.set("columns", Columns.told(schema));
        asked.set("properties", (JsonNode) Questions.JSON.valueToTree(info.properties()));
        asked.set("constraints", Constraints.told(info.constraints()));
        Map replaces = Statement.replaces();
        if (replaces != null) asked.set("replaces", (JsonNode) Questions.JSON.valueToTree(replaces));
        ArrayNode told = asked.putArray("partition");
        for (int i = 0; i < partitions.length; i++) {
            if (!partitions[i].name().equals("identity")) {
                throw new Refused(
                    "LEDGER_UNSUPPORTED",
                    "a table must be partitioned by columns, got " + partitions[i].describe());
            }
            told.add(String.join(".", partitions[i].references()[0].fieldNames()));
        }
        return new LedgerTable(this, ask("create", asked));
    }

    /** Spark makes the new schema; Python keeps the ids of columns by the list of changes. */
    public Table alterTable(Identifier table, TableChange... changes) {
        ObjectNode asked = Questions.about(table);
        LedgerTable before = new LedgerTable(this, ask("table", Questions.about(table)));
        StructType after = CatalogV2Util.applySchemaChanges(
            before.schema(), Questions.seq(Arrays.asList(changes)), Option.apply("parquet"),
            "ALTER TABLE");
        asked.set("columns", Columns.told(after));
        asked.put("position", before.position());
        ArrayNode told = asked.putArray("changes");
        for (int i = 0; i < changes.length; i++) Columns.tell(told.addObject(), changes[i]);
        return new LedgerTable(this, ask("alter", asked));
    }

    /** A statement that replaces a table drops and creates it at once. */
    public boolean dropTable(Identifier table) {
        if (Statement.replaces() != null) return true;
        return ask("drop", Questions.about(table)).asBoolean();
    }

    /** A snapshot or a reader of an earlier version may need the files of the table. */
    public boolean purgeTable(Identifier table) {
        String of = Questions.name(table);
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            "DROP TABLE ... PURGE must not delete files that open snapshots need. Drop the table "
                + "without PURGE; then CALL " + name + ".system.vacuum(table => '" + of
                + "', older_than_h => 0) deletes its files");
    }

    /** The new name may begin with that of the catalog. */
    public void renameTable(Identifier table, Identifier to) {
        ObjectNode asked = Questions.about(table);
        String given = Questions.name(to);
        String own = name + ".";
        asked.put("to", given.startsWith(own) ? given.substring(own.length()) : given);
        ask("rename", asked);
    }

    // Txns.

    public Transaction beginTransaction(TransactionInfo info) {
        return new StatementTxn(this, ask("begin", Questions.question()).asText());
    }

    static class StatementTxn implements Transaction {
        private final Bridge own = new Bridge();

        StatementTxn(Bridge catalog, String txn) {
            own.name = catalog.name;
            own.txn = txn;
        }

        public CatalogPlugin catalog() {
            return own;
        }

        public void commit() {
            own.ask("commit", Questions.question());
        }

        public void abort() {
            own.ask("abort", Questions.question());
        }

        public boolean registerScans(Scan[] scans) {
            return true;
        }

        public void close() {
            own.ask("close", Questions.question());
        }
    }

    // Procedures.

    public Identifier[] listProcedures(String[] space) {
        String[] found = Questions.texts(ask("procedures", Questions.question()));
        Identifier[] names = new Identifier[found.length];
        for (int i = 0; i < found.length; i++) names[i] = Identifier.of(space, found[i]);
        return names;
    }

    public UnboundProcedure loadProcedure(Identifier procedure) {
        ObjectNode asked = Questions.question();
        asked.put("name", Questions.name(procedure));
        return new LedgerProcedure(this, ask("procedure", asked));
    }
}
