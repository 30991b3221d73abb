package lakeledger;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.collection.immutable.Seq;

/** Makes the parts of a scan that compare the files of rewrites. */
final class Rewrites {
    /** A slice remembers the rows of so many bytes of removed files. */
    private static final long SLICE = 33554432L;

    private Rewrites() {}

    /** A rewrite is read whole, or not at all: filters do not divide its files. */
    static List parts(PlannedFiles files, Seq partitionFilters, Seq dataFilters) {
        Map rows = files.rewritten();
        List parts = new ArrayList();
        if (rows.isEmpty()) return parts;
        Set wanted = files.units(partitionFilters, dataFilters);
        TreeMap byUnit = new TreeMap();
        for (Object item : rows.keySet()) {
            Integer place = (Integer) item;
            Integer unit = files.unit(place.intValue());
            if (!wanted.contains(unit)) continue;
            if (!byUnit.containsKey(unit)) byUnit.put(unit, new ArrayList());
            ((List) byUnit.get(unit)).add(place);
        }
        for (Object item : byUnit.values()) {
            add(parts, files, rows, (List) item);
        }
        return parts;
    }

    private static void add(List parts, PlannedFiles files, Map rows, List places) {
        Collections.sort(places);
        FilePartition[] read = new FilePartition[places.size()];
        int[] groups = new int[read.length];
        boolean[] removed = new boolean[read.length];
        InternalRow[] said = new InternalRow[2];
        long before = 0;
        for (int i = 0; i < read.length; i++) {
            Integer place = (Integer) places.get(i);
            int at = place.intValue();
            InternalRow row = (InternalRow) rows.get(place);
            long size = files.said("sizes", at).asLong();
            PartitionedFile file =
                new PartitionedFile(
                    row,
                    SparkPath.fromPath(new Path(files.said("paths", at).asText())),
                    0L, Long.MAX_VALUE, new String[0], 0L, size, files.beside(at));
            read[i] = new FilePartition(0, new PartitionedFile[] {file});
            groups[i] = files.said("group_of", at).asInt();
            removed[i] = files.said("removed_of", at).asBoolean();
            if (removed[i]) before += size;
            said[removed[i] ? 0 : 1] = beside(files.table, row);
        }
        int slices = (int) (before / SLICE) + 1;
        for (int slice = 0; slice < slices; slice++) {
            parts.add(new RewritePart(read, groups, removed, said[0], said[1], slice, slices));
        }
    }

    /** The constants that are neither partition values nor the path. */
    private static InternalRow beside(FileRelation table, InternalRow row) {
        int first = table.partitionColumns.length;
        Object[] values = new Object[table.constants.length() - 1 - first];
        for (int i = 0; i < values.length; i++) {
            values[i] = row.get(first + i, table.constants.fields()[first + i].dataType());
        }
        return new GenericInternalRow(values);
    }
}
