package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.runtime.AbstractFunction0;

/** Columns in questions and answers: name, type as Spark SQL writes it, nullable, metadata. */
final class Columns {
    private Columns() {}

    static StructType asked(JsonNode columns) {
        StructType found = new StructType();
        for (int i = 0; i < columns.size(); i++) {
            JsonNode each = Questions.item(columns, i);
            DataType type = type(Questions.text(each, "type"));
            // The parser's own object would be shown with its collation.
            if (type.equals(StringType$.MODULE$)) type = StringType$.MODULE$;
            String metadata = each.has("metadata") ? Questions.text(each, "metadata") : "{}";
            found = found.add(
                Questions.text(each, "name"),
                type,
                !each.has("nullable") || Questions.at(each, "nullable").asBoolean(),
                Metadata.fromJson(metadata));
        }
        return found;
    }

    /** A type of SQL, whatever the settings of the session make of its name. */
    private static DataType type(final String text) {
        return (DataType)
            SQLConf$.MODULE$.withExistingConf(
                new SQLConf(),
                new AbstractFunction0() {
                    public Object apply() {
                        return CatalystSqlParser$.MODULE$.parseDataType(text);
                    }
                });
    }

    static ArrayNode told(StructType schema) {
        ArrayNode columns = Questions.JSON.createArrayNode();
        StructField[] fields = schema.fields();
        for (int i = 0; i < fields.length; i++) {
            ObjectNode column = columns.addObject();
            column.put("name", fields[i].name());
            column.put("type", text(fields[i].dataType()));
            column.put("nullable", fields[i].nullable());
            column.put("metadata", fields[i].metadata().json());
        }
        return columns;
    }

    /** A type as SQL, with "not null" for fields of structs. */
    static String text(DataType type) {
        if (type instanceof ArrayType) return "array<" + text(((ArrayType) type).elementType()) + ">";
        if (type instanceof MapType) {
            MapType map = (MapType) type;
            return "map<" + text(map.keyType()) + "," + text(map.valueType()) + ">";
        }
        if (!(type instanceof StructType)) return type.sql().toLowerCase(java.util.Locale.ROOT);
        StringBuilder said = new StringBuilder("struct<");
        StructField[] fields = ((StructType) type).fields();
        for (int i = 0; i < fields.length; i++) {
            if (i > 0) said.append(",");
            said.append("`").append(fields[i].name().replace("`", "``")).append("`:");
            said.append(text(fields[i].dataType()));
            if (!fields[i].nullable()) said.append(" NOT NULL");
        }
        return said.append(">").toString();
    }

    static void tell(ObjectNode told, TableChange change) {
        told.put("kind", change.getClass().getSimpleName());
        if (change instanceof TableChange.SetProperty) {
            told.put("key", ((TableChange.SetProperty) change).property());
            told.put("value", ((TableChange.SetProperty) change).value());
        } else if (change instanceof TableChange.RemoveProperty) {
            told.put("key", ((TableChange.RemoveProperty) change).property());
        } else if (change instanceof TableChange.RenameColumn) {
            TableChange.RenameColumn renamed = (TableChange.RenameColumn) change;
            tell(told, renamed.fieldNames());
            told.put("to", renamed.newName());
        } else if (change instanceof TableChange.AddColumn) {
            TableChange.AddColumn added = (TableChange.AddColumn) change;
            tell(told, added.fieldNames());
            told.put("default", added.defaultValue() != null);
        } else if (change instanceof TableChange.ColumnChange) {
            tell(told, ((TableChange.ColumnChange) change).fieldNames());
        } else {
            Constraints.tell(told, change);
        }
    }

    private static void tell(ObjectNode told, String[] path) {
        told.put("column", String.join(".", path));
        ArrayNode parts = told.putArray("path");
        for (int i = 0; i < path.length; i++) parts.add(path[i]);
    }
}
