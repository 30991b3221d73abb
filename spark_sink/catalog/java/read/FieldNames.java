package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Names and ids that fields within columns have in files. */
final class FieldNames {
    private FieldNames() {}

    /** A part of a whole type, with the names that the fields of the whole have in files. */
    static DataType of(DataType part, DataType whole, DataType there) {
        if (part instanceof ArrayType) {
            ArrayType array = (ArrayType) part;
            DataType element = of(
                array.elementType(),
                ((ArrayType) whole).elementType(),
                ((ArrayType) there).elementType());
            return new ArrayType(element, array.containsNull());
        }
        if (part instanceof MapType) {
            MapType map = (MapType) part;
            MapType all = (MapType) whole;
            MapType names = (MapType) there;
            return new MapType(
                of(map.keyType(), all.keyType(), names.keyType()),
                of(map.valueType(), all.valueType(), names.valueType()),
                map.valueContainsNull());
        }
        if (!(part instanceof StructType)) return part;
        StructType made = new StructType();
        StructField[] fields = ((StructType) part).fields();
        for (int i = 0; i < fields.length; i++) {
            int at = ((StructType) whole).fieldIndex(fields[i].name());
            StructField name = ((StructType) there).fields()[at];
            DataType type = of(
                fields[i].dataType(), ((StructType) whole).fields()[at].dataType(), name.dataType());
            made = made.add(name.name(), type, fields[i].nullable(), fields[i].metadata());
        }
        return made;
    }

    /** A type with the names and ids of its fields in new files, as Python tells them. */
    static DataType stored(DataType type, JsonNode fields) {
        if (fields == null || fields.size() == 0) return type;
        if (type instanceof ArrayType) {
            ArrayType array = (ArrayType) type;
            DataType element = stored(array.elementType(), within(fields, "element"));
            return new ArrayType(element, array.containsNull());
        }
        if (type instanceof MapType) {
            MapType map = (MapType) type;
            return new MapType(
                stored(map.keyType(), within(fields, "key")),
                stored(map.valueType(), within(fields, "value")),
                map.valueContainsNull());
        }
        if (!(type instanceof StructType)) return type;
        StructType made = new StructType();
        StructField[] all = ((StructType) type).fields();
        for (int i = 0; i < all.length; i++) {
            JsonNode known = fields.get(all[i].name());
            if (known == null) {
                made = made.add(all[i]);
                continue;
            }
            MetadataBuilder metadata = new MetadataBuilder().withMetadata(all[i].metadata());
            long id = Json.at(known, "id").asLong();
            if (id > 0) metadata.putLong("parquet.field.id", id);
            made = made.add(
                Json.text(known, "name"),
                stored(all[i].dataType(), known.get("in")),
                all[i].nullable(),
                metadata.build());
        }
        return made;
    }

    private static JsonNode within(JsonNode fields, String part) {
        return Json.at(Json.at(fields, part), "in");
    }
}
