package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.IdentityColumnSpec;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Enumeration;
import scala.Option;
import scala.runtime.AbstractFunction0;

/** Columns in questions and answers, changes of them, and values in them. */
final class Columns {
    private Columns() {}

    static StructType fromJson(JsonNode columns) {
        StructType found = new StructType();
        for (int i = 0; i < columns.size(); i++) {
            JsonNode each = Json.item(columns, i);
            DataType type = type(Json.text(each, "type"));
            // The parser's own object would be shown with its collation.
            if (type.equals(StringType$.MODULE$)) type = StringType$.MODULE$;
            String metadata = each.has("metadata") ? Json.text(each, "metadata") : "{}";
            found = found.add(
                Json.text(each, "name"),
                type,
                !each.has("nullable") || Json.at(each, "nullable").asBoolean(),
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

    /** The columns of a new table; what is computed is in their metadata, as Spark names it. */
    static StructType withValues(TableInfo info) {
        StructType made = new StructType();
        StructField[] fields = info.schema().fields();
        for (int i = 0; i < fields.length; i++) {
            Column column = info.columns()[i];
            MetadataBuilder metadata = new MetadataBuilder().withMetadata(fields[i].metadata());
            if (column.generationExpression() != null) {
                metadata.putString("GENERATION_EXPRESSION", column.generationExpression());
            }
            IdentityColumnSpec numbers = column.identityColumnSpec();
            if (numbers != null) {
                metadata.putLong("identity.start", numbers.getStart());
                metadata.putLong("identity.step", numbers.getStep());
                metadata.putBoolean(
                    "identity.allowExplicitInsert", numbers.isAllowExplicitInsert());
            }
            made = made.add(
                fields[i].name(), fields[i].dataType(), fields[i].nullable(), metadata.build());
        }
        return made;
    }

    /** Columns without their values in files that lack them. */
    static StructType withoutInitials(StructType schema) {
        StructType made = new StructType();
        StructField[] fields = schema.fields();
        for (int i = 0; i < fields.length; i++) {
            Metadata metadata = new MetadataBuilder()
                .withMetadata(fields[i].metadata())
                .remove("EXISTS_DEFAULT")
                .build();
            made = made.add(
                fields[i].name(), fields[i].dataType(), fields[i].nullable(), metadata);
        }
        return made;
    }

    static ArrayNode toJson(StructType schema) {
        ArrayNode columns = Json.array();
        StructField[] fields = schema.fields();
        for (int i = 0; i < fields.length; i++) {
            columns.addObject()
                .put("name", fields[i].name())
                .put("type", text(fields[i].dataType()))
                .put("nullable", fields[i].nullable())
                .put("metadata", fields[i].metadata().json());
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
        // Of a text with a named collation Spark would say that; the usual one needs no name.
        if (type.equals(StringType$.MODULE$)) return "string";
        if (!(type instanceof StructType)) return type.sql().toLowerCase(java.util.Locale.ROOT);
        StringBuilder said = new StringBuilder("struct<");
        StructField[] fields = ((StructType) type).fields();
        for (int i = 0; i < fields.length; i++) {
            if (i > 0) said.append(",");
            said.append(Identifiers.quoted(fields[i].name())).append(":");
            said.append(text(fields[i].dataType()));
            if (!fields[i].nullable()) said.append(" NOT NULL");
        }
        return said.append(">").toString();
    }

    static ObjectNode toJson(TableChange change) {
        ObjectNode told = Json.object().put("kind", change.getClass().getSimpleName());
        if (change instanceof TableChange.ColumnChange) {
            String[] path = ((TableChange.ColumnChange) change).fieldNames();
            told.put("column", String.join(".", path)).set("path", Json.tree(path));
        }
        if (change instanceof TableChange.RenameColumn) {
            told.put("to", ((TableChange.RenameColumn) change).newName());
        } else if (change instanceof TableChange.SetProperty) {
            TableChange.SetProperty found = (TableChange.SetProperty) change;
            told.put("key", found.property()).put("value", found.value());
        } else if (change instanceof TableChange.RemoveProperty) {
            told.put("key", ((TableChange.RemoveProperty) change).property());
        } else if (change instanceof TableChange.AddConstraint) {
            told.setAll(Constraints.toJson(((TableChange.AddConstraint) change).constraint()));
        } else if (change instanceof TableChange.DropConstraint) {
            TableChange.DropConstraint found = (TableChange.DropConstraint) change;
            told.put("name", found.name()).put("if_exists", found.ifExists());
        }
        return told;
    }

    /** The value of a text in a column: a cast of ANSI SQL in UTC. Lists and maps have texts. */
    static Object value(JsonNode said, DataType type) {
        if (said.isArray()) {
            Object[] items = new Object[said.size()];
            DataType inner = ((ArrayType) type).elementType();
            for (int i = 0; i < items.length; i++) items[i] = value(Json.item(said, i), inner);
            return new GenericArrayData(items);
        }
        if (said.isObject()) {
            Object[] keys = new Object[said.size()];
            Object[] values = new Object[said.size()];
            MapType map = (MapType) type;
            java.util.Iterator names = ((ObjectNode) said).fieldNames();
            for (int i = 0; i < keys.length; i++) {
                String name = (String) names.next();
                keys[i] = cast(name, map.keyType(), "UTC", EvalMode.ANSI());
                values[i] = value(Json.at(said, name), map.valueType());
            }
            return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
        }
        return said.isNull() ? null : cast(said.asText(), type, "UTC", EvalMode.ANSI());
    }

    /** The value of a partition: a text without a zone is in the session's; NULL if it is unfit. */
    static Object partitionValue(JsonNode said, DataType type) {
        return said.isNull() ? null : cast(said.asText(), type, Session.zone(), EvalMode.TRY());
    }

    static Object cast(String said, DataType type, String zone, Enumeration.Value mode) {
        UTF8String text = UTF8String.fromString(said);
        if (type instanceof StringType) return text;
        Literal literal = Literal.create(text, DataTypes.StringType);
        return new Cast(literal, type, Option.apply(zone), mode).eval(null);
    }
}
