import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
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

  private RESTCatalog catalog;

  @BeforeEach
  void begin() {
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
    RESTCatalog found = new RESTCatalog();
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

  // The tests name places below file:/tmp; the server takes those below its warehouse alone.
  @Override
  protected String baseTableLocation(TableIdentifier table) {
    String place = System.getProperty("tables", "file:/tmp");
    return String.join("/", place, table.namespace().toString(), table.name());
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
