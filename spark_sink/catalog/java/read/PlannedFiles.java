package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;
import scala.collection.mutable.LinkedHashMap;

/**
 * The files that Python names, asked for at their first use; nothing is listed. Each file is a
 * partition of its own: its values, and its path, are constants of its rows.
 *
 * Files of one group have the same names for the columns of the table.
 */
class PlannedFiles extends PartitioningAwareFileIndex {
    private static final long BLOCK = 134217728L;

    final FileRelation table;
    private String word = "files";
    private ObjectNode asked;
    private JsonNode files;
    private Set kept;
    private int group = -1;
    private PartitionSpec spec;
    /** The places of files in the answer, by the object that holds their constants. */
    private IdentityHashMap places;
    /** The files by those places. */
    private FileStatus[] statuses;
    private LinkedHashMap leaves;
    private Map folders;
    private HashMap unfit;
    private HashMap vectors;
    private long bytes;

    PlannedFiles(FileRelation table) {
        super(
            Session.spark(),
            Scala.map(new HashMap()),
            Option.apply(table.constants),
            NoopCache$.MODULE$);
        this.table = table;
        this.asked = table.about();
        where(Json.array());
    }

    /** Says which rows are read: those of all conditions, meant in the session's time zone. */
    void where(ArrayNode conditions) {
        asked.set("where", conditions);
        asked.put("zone", Session.zone());
    }

    /** Says that of these files only the rows count that the statement marks. */
    void byRow() {
        asked.put("by_row", true);
    }

    /** Says that nothing is asked of the places of rows, so that blocks may come put together. */
    void asFew() {
        asked.put("as_few", true);
    }

    /** Another question in the place of "files"; its answer has the same form. */
    PlannedFiles asking(String word, ObjectNode asked) {
        PlannedFiles other = new PlannedFiles(table);
        other.word = word;
        other.asked = asked;
        return other;
    }

    PlannedFiles keeping(Set paths) {
        PlannedFiles other = copy();
        other.kept = paths;
        return other;
    }

    PlannedFiles of(int group) {
        PlannedFiles other = copy();
        other.group = group;
        return other;
    }

    private PlannedFiles copy() {
        answer();
        PlannedFiles other = asking(word, asked);
        other.files = files;
        other.kept = kept;
        other.group = group;
        return other;
    }

    private synchronized JsonNode answer() {
        if (files == null) files = table.planned(word, asked);
        return files;
    }

    /** How many groups of files there are. */
    int groups() {
        return Json.at(answer(), "groups").size();
    }

    /** The names of the table's data columns in files of a group, null for a column they lack. */
    String[] names(int group) {
        return said(group, 0);
    }

    /** The types of these columns with the names of their fields there, "" = as in the table. */
    String[] types(int group) {
        return said(group, 1);
    }

    private String[] said(int group, int part) {
        JsonNode columns = Json.item(Json.at(answer(), "groups"), group);
        String[] found = new String[columns.size()];
        for (int i = 0; i < found.length; i++) {
            JsonNode each = Json.item(Json.item(columns, i), part);
            found[i] = each.isNull() ? null : each.asText();
        }
        return found;
    }

    private synchronized void load() {
        if (spec != null) return;
        JsonNode found = answer();
        JsonNode paths = Json.at(found, "paths");
        JsonNode sizes = Json.at(found, "sizes");
        JsonNode values = Json.at(found, "values");
        JsonNode inValues = Json.at(found, "value_of");
        JsonNode inGroups = Json.at(found, "group_of");
        Object[][] constants = new Object[values.size()][];
        String[] refusals = new String[constants.length];
        for (int i = 0; i < constants.length; i++) {
            JsonNode texts = Json.item(values, i);
            constants[i] = typed(texts);
            refusals[i] = refusal(texts, constants[i]);
        }
        List partitions = new ArrayList();
        HashMap byFolder = new HashMap();
        leaves = new LinkedHashMap();
        places = new IdentityHashMap();
        statuses = new FileStatus[paths.size()];
        unfit = new HashMap();
        for (int i = 0; i < paths.size(); i++) {
            String path = Json.item(paths, i).asText();
            if (kept != null && !kept.contains(path)) continue;
            if (group >= 0 && (unit(i) >= 0 || Json.item(inGroups, i).asInt() != group)) continue;
            Path place = new Path(path);
            long size = Json.item(sizes, i).asLong();
            int said = Json.item(inValues, i).asInt();
            statuses[i] = new FileStatus(size, false, 1, BLOCK, 0L, place);
            if (refusals[said] != null) unfit.put(place.toString(), refusals[said] + path);
            Object[] row = (Object[]) constants[said].clone();
            row[row.length - 1] = UTF8String.fromString(path);
            GenericInternalRow held = new GenericInternalRow(row);
            places.put(held, i);
            // Spark passes over files whose names begin with _ or ., so it gets a plain name.
            Path folder = new Path("/" + i);
            partitions.add(new PartitionPath(held, folder));
            byFolder.put(folder, new FileStatus[] {new FileStatus(size, false, 1, BLOCK, 0L, folder)});
            leaves.put(place, statuses[i]);
            bytes += size;
        }
        folders = Scala.map(byFolder);
        spec = new PartitionSpec(table.constants, Scala.seq(partitions));
    }

    /** Which rewrite a file is a part of, -1 for a file whose rows stand for themselves. */
    int unit(int place) {
        JsonNode units = Json.at(answer(), "unit_of");
        return units.size() == 0 ? -1 : Json.item(units, place).asInt();
    }

    /** The constants of the files of rewrites, by their places in the answer. */
    java.util.Map rewritten() {
        load();
        HashMap found = new HashMap();
        for (Object item : Scala.list(spec.partitions())) {
            InternalRow row = ((PartitionPath) item).values();
            Object place = places.get(row);
            if (unit(((Integer) place).intValue()) >= 0) found.put(place, row);
        }
        return found;
    }

    JsonNode said(String key, int place) {
        return Json.item(Json.at(answer(), key), place);
    }

    /**
     * The values of partition columns, with a free place for the path. A value that its column
     * cannot hold is NULL, so that no condition on it holds.
     */
    Object[] typed(JsonNode texts) {
        Object[] row = new Object[table.constants.length()];
        for (int i = 0; i < row.length - 1; i++) {
            DataType type = table.constants.fields()[i].dataType();
            row[i] = Columns.partitionValue(Json.item(texts, i), type);
        }
        return row;
    }

    /** The start of the refusal of files whose values their columns cannot hold, else null. */
    String refusal(JsonNode texts, Object[] values) {
        for (int i = 0; i < values.length - 1; i++) {
            if (values[i] != null || Json.item(texts, i).isNull()) continue;
            StructField column = table.constants.fields()[i];
            return "a partition of column " + column.name() + " has the value "
                + Json.item(texts, i).asText() + ", which must be " + column.dataType().sql()
                + "; correct the value, or alter the table to another type; it is the value of ";
        }
        return null;
    }

    /** The refusals of files by their paths: queries that read such a file fail. */
    HashMap unfit() {
        load();
        return unfit;
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        load();
        List found = new ArrayList();
        Seq directories = super.listFiles(partitionFilters, dataFilters);
        for (Object item : Scala.list(directories)) {
            PartitionDirectory each = (PartitionDirectory) item;
            if (each.files().isEmpty()) continue;  // The file has no bytes.
            Integer place = (Integer) places.get(each.values());
            List file = new ArrayList();
            file.add(new FileStatusWithMetadata(statuses[place.intValue()], beside(place.intValue())));
            found.add(PartitionDirectory.apply(each.values(), Scala.seq(file)));
        }
        return Scala.seq(found);
    }

    /** Whether the files of a group have deleted rows. */
    boolean marked(int group) {
        return Json.item(Json.at(answer(), "marked"), group).asBoolean();
    }

    /** The id of the deletion vector of a file, by its path; "" for a file without one. */
    String vector(String path) {
        if (vectors == null) {
            vectors = new HashMap();
            JsonNode known = Json.at(answer(), "vectors");
            JsonNode paths = Json.at(answer(), "paths");
            for (java.util.Iterator places = known.fieldNames(); places.hasNext(); ) {
                String place = (String) places.next();
                String named = Json.item(paths, Integer.parseInt(place)).asText();
                vectors.put(named, Json.text(known, place));
            }
        }
        return (String) vectors.getOrDefault(path, "");
    }

    /** What a file carries to its readers: the numbers of its deleted rows, and rows in the log. */
    Map beside(int place) {
        HashMap said = new HashMap();
        put(said, DeletedRows.DELETED, "deleted", place);
        put(said, LoggedRows.ROWS, "blocks", place);
        return Scala.map(said);
    }

    private void put(HashMap said, String name, String key, int place) {
        JsonNode text = Json.at(Json.at(answer(), key), String.valueOf(place));
        if (text.isTextual()) said.put(name, text.asText());
    }

    /** The paths of files whose constant has one of some values. */
    Set having(String column, Set values) {
        load();
        int at = table.constants.fieldIndex(column);
        DataType type = table.constants.fields()[at].dataType();
        Set found = new HashSet();
        for (Object item : Scala.list(spec.partitions())) {
            InternalRow row = ((PartitionPath) item).values();
            if (values.contains(row.get(at, type))) found.add(path(row));
        }
        return found;
    }

    /** The rewrites of which some filters keep a file. */
    Set units(Seq partitionFilters, Seq dataFilters) {
        load();
        Set found = new HashSet();
        Seq directories = listFiles(partitionFilters, dataFilters);
        for (Object item : Scala.list(directories)) {
            Object place = places.get(((PartitionDirectory) item).values());
            found.add(unit(((Integer) place).intValue()));
        }
        found.remove(-1);
        return found;
    }

    /** The paths of files in partitions that some filters keep. */
    List paths(Seq partitionFilters, Seq dataFilters) {
        List found = new ArrayList();
        Seq directories = listFiles(partitionFilters, dataFilters);
        for (Object item : Scala.list(directories)) {
            found.add(path(((PartitionDirectory) item).values()));
        }
        return found;
    }

    private String path(InternalRow row) {
        return row.getUTF8String(table.constants.length() - 1).toString();
    }

    public StructType partitionSchema() {
        return table.constants;
    }

    public PartitionSpec partitionSpec() {
        load();
        return spec;
    }

    public LinkedHashMap leafFiles() {
        load();
        return leaves;
    }

    public Map leafDirToChildrenFiles() {
        load();
        return folders;
    }

    public Seq rootPaths() {
        return Scala.seq(new ArrayList());
    }

    public void refresh() {}

    public long sizeInBytes() {
        load();
        return bytes;
    }

    public boolean equals(Object other) {
        if (!(other instanceof PlannedFiles)) return false;
        PlannedFiles that = (PlannedFiles) other;
        return that.table.equals(table)
            && that.word.equals(word)
            && that.asked.equals(asked)
            && that.group == group
            && Objects.equals(that.kept, kept);
    }

    public int hashCode() {
        return table.hashCode();
    }
}
