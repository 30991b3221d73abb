import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.CatalogTests;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Iceberg's tests of a catalog against the server at the address of the property `uri`. */
public class LedgerCatalogTests extends CatalogTests<RESTCatalog> {
  // What the tests expect of a catalog that gives tables properties of its own.
  private static final Map<String, String> GIVEN =
      Map.of(
          "table-default.default-key1", "catalog-default-key1",
          "table-default.default-key2", "catalog-default-key2",
          "table-default.override-key3", "catalog-default-key3",
          "table-override.override-key3", "catalog-override-key3",
          "table-override.override-key4", "catalog-override-key4");

  // The server takes tables below its warehouse alone, and files below the location of their table.
  private static final String TABLES = System.getProperty("tables", "file:/tmp");
  private static final Set<TableIdentifier> PLACED = new HashSet<>();
  private static String place;

  private RESTCatalog catalog;

  /** Gives the first table of a name a location that the files of the tests lie below. */
  private static class PlacingCatalog extends RESTCatalog {
    @Override
    public Catalog.TableBuilder buildTable(TableIdentifier table, Schema schema) {
      Catalog.TableBuilder found = super.buildTable(table, schema);
      return PLACED.add(table) ? found.withLocation(placeOf(table)) : found;
    }

    @Override
    public Table createTable(TableIdentifier table, Schema schema) {
      return buildTable(table, schema).create();
    }

    @Override
    public Table createTable(TableIdentifier table, Schema schema, PartitionSpec spec) {
      return buildTable(table, schema).withPartitionSpec(spec).create();
    }
  }

  private static String placeOf(TableIdentifier table) {
    return String.join("/", place, table.namespace().toString(), table.name());
  }

  private static void moveFiles() throws ReflectiveOperationException {
    Field path = Class.forName("org.apache.iceberg.BaseFile").getDeclaredField("filePath");
    path.setAccessible(true);
    DataFile[] files = {FILE_A, FILE_B, FILE_C};
    for (int n = 0; n < files.length; n++) {
      path.set(files[n], placeOf(TABLE) + "/data-" + n + ".parquet");
    }
  }

  @BeforeEach
  void begin() throws ReflectiveOperationException {
    place = TABLES + "/" + UUID.randomUUID();
    PLACED.clear();
    moveFiles();
    catalog = connected("ledger", Map.of());
    catalog.listNamespaces().forEach(this::empty);
  }

  @AfterEach
  void end() throws Exception {
    catalog.close();
  }

  private static RESTCatalog connected(String name, Map<String, String> more) {
    Map<String, String> properties = new HashMap<>(GIVEN);
    properties.put("uri", System.getProperty("uri"));
    properties.put("warehouse", System.getProperty("warehouse"));
    properties.putAll(more);
    RESTCatalog found = new PlacingCatalog();
    found.setConf(new Configuration());
    found.initialize(name, properties);
    return found;
  }

  private void empty(Namespace namespace) {
    catalog.listTables(namespace).forEach(table -> catalog.dropTable(table, false));
    catalog.listNamespaces(namespace).forEach(this::empty);
    try {
      catalog.dropNamespace(namespace);
    } catch (RuntimeException problem) {
      System.out.println(namespace + " stays: " + problem);
    }
  }

  @Override
  protected RESTCatalog catalog() {
    return catalog;
  }

  @Override
  protected RESTCatalog initCatalog(String name, Map<String, String> properties) {
    return connected(name, properties);
  }

  @Override
  protected String baseTableLocation(TableIdentifier table) {
    return placeOf(table);
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }

  @Override
  protected boolean supportsNestedNamespaces() {
    return true;
  }

  @Override
  protected boolean supportsNamesWithDot() {
    return false;
  }

  @Override
  protected boolean supportsNamesWithSlashes() {
    return false;
  }
}
