package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Rows in data files that Python names, as of one position, or as one txn sees them. */
abstract class FileRelation implements SupportsRead {
    private static final String FILE = "_file";
    private static final String ROW = "_row";
    private static final Pattern CHAR = Pattern.compile("\\bCHAR\\(");

    final LedgerCatalog catalog;
    final JsonNode answer;
    final String[] partitionColumns;
    /** The columns in data files, with the names and types that the table has. */
    final StructType data;
    /** The partition columns, other constants of a file's rows, and last the path of the file. */
    final StructType constants;
    final StructType schema;
    /** The metadata column with the path of a row's file; no column of the table has its name. */
    final String file;
    /** The metadata column with the number of a row in its file, null in tables without marks. */
    final String row;

    FileRelation(LedgerCatalog catalog, JsonNode answer) {
        this.catalog = catalog;
        this.answer = answer;
        this.schema = Columns.fromJson(Json.at(answer, "columns"));
        this.partitionColumns = Json.texts(Json.at(answer, "partition"));
        this.file = free(FILE, schema);
        this.row = Json.at(answer, "marks").asBoolean() ? free(ROW, schema) : null;
        StructType plain =
            ((StructType) CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema)).asNullable();
        List beside = new ArrayList(Arrays.asList(partitionColumns));
        beside.addAll(Arrays.asList(Json.texts(Json.at(answer, "constants"))));
        StructType columns = new StructType();
        for (int i = 0; i < plain.length(); i++) {
            if (!beside.contains(plain.fields()[i].name())) columns = columns.add(plain.fields()[i]);
        }
        StructType values = new StructType();
        for (int i = 0; i < beside.size(); i++) {
            values = values.add(plain.fields()[plain.fieldIndex((String) beside.get(i))]);
        }
        this.data = columns;
        this.constants = values.add(file, DataTypes.StringType);
    }

    private static String free(String wanted, StructType schema) {
        String name = wanted;
        for (int i = 0; i < schema.length(); i++) {
            if (!schema.fields()[i].name().equalsIgnoreCase(name)) continue;
            name = "_" + name;
            i = -1;
        }
        return name;
    }

    /** The files that answer a question. */
    JsonNode planned(String word, ObjectNode asked) {
        return catalog.ask(word, asked);
    }

    /** All that data files and their constants have, in the order in which Spark reads them. */
    StructType whole() {
        StructType all = data;
        for (int i = 0; i < constants.length(); i++) all = all.add(constants.fields()[i]);
        return all;
    }

    /**
     * Whether texts of CHAR are filled up as they are read. Spark's search for the files of an UPDATE,
     * DELETE or MERGE names columns then that its scan does not have.
     */
    boolean fillsUp() {
        return CHAR.matcher(schema.sql()).find();
    }

    /** A question about this table, as it was when it was looked up. */
    ObjectNode about() {
        ObjectNode asked = Json.object().put("table", Json.text(answer, "name"));
        return asked.put("id", id()).put("position", position());
    }

    long position() {
        return Json.at(answer, "position").asLong();
    }

    /** Equal keys mean equal rows. */
    String key() {
        return id() + Json.text(answer, "seen");
    }

    public boolean equals(Object other) {
        if (other == null || other.getClass() != getClass()) return false;
        FileRelation that = (FileRelation) other;
        return that.name().equals(name()) && that.key().equals(key()) && that.schema.equals(schema);
    }

    public int hashCode() {
        return key().hashCode();
    }

    public String name() {
        return catalog.name() + "." + Json.text(answer, "name");
    }

    public String toString() {
        return name();
    }

    public String id() {
        return Json.text(answer, "id");
    }

    /** With a version Spark looks the table up again before it runs a plan. */
    public String version() {
        return Json.at(answer, "pinned").asBoolean() ? null : key();
    }

    public StructType schema() {
        return schema;
    }

    /** Spark spells the value of older files wrongly for CHAR and VARCHAR: only its readers get it. */
    public Column[] columns() {
        return CatalogV2Util.structTypeToV2Columns(Columns.withoutInitials(schema), true);
    }

    public Map<String, String> properties() {
        return Json.map(Json.at(answer, "properties"));
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new LedgerScanBuilder(this, options, null);
    }
}
