package lakeledger;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StringType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The files of a table, each in the partition that the ledger says, wherever it lies.
 *
 * Spark finds the files of a partition by the folder that they lie in. Here each partition has a
 * made-up folder of its own, and its files are those that were told.
 */
public class LedgerFiles extends InMemoryFileIndex {
    private final SparkSession session;
    private final PartitionSpec spec;
    private final Map folders;
    private final Map numbers;

    private LedgerFiles(SparkSession session, PartitionSpec spec, Map folders, Map numbers) {
        super(
            session,
            CollectionConverters.asScala(new ArrayList(folders.keySet())).toSeq(),
            scala.collection.immutable.Map$.MODULE$.empty(),
            Option.apply(null),
            NoopCache$.MODULE$,
            Option.apply(null),
            Option.apply(null));
        this.session = session;
        this.spec = spec;
        this.folders = folders;
        this.numbers = numbers;
    }

    public PartitionSpec partitionSpec() {
        return spec;
    }

    public scala.collection.immutable.Map leafDirToChildrenFiles() {
        Map found = new HashMap();
        for (Iterator each = leaves().iterator(); each.hasNext();) {
            FileStatus file = (FileStatus) each.next();
            Object folder = folders.get(file.getPath());
            List inside = (List) found.get(folder);
            if (inside == null) {
                inside = new ArrayList();
                found.put(folder, inside);
            }
            inside.add(file);
        }
        for (Iterator each = found.entrySet().iterator(); each.hasNext();) {
            Map.Entry entry = (Map.Entry) each.next();
            entry.setValue(((List) entry.getValue()).toArray(new FileStatus[0]));
        }
        return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(found));
    }

    /** Two of them may have the same files in other partitions: each is equal to itself alone. */
    public boolean equals(Object other) {
        return this == other;
    }

    public int hashCode() {
        return System.identityHashCode(this);
    }

    /** Returns how many paths were found of each file, by its number. */
    public int[] counts(int files) {
        int[] found = new int[files];
        for (Iterator each = leaves().iterator(); each.hasNext();) {
            Path path = ((FileStatus) each.next()).getPath();
            found[((Integer) numbers.get(path)).intValue()]++;
        }
        return found;
    }

    /** Returns the rows; `columns` are those that the files have, null = whichever they have. */
    public Dataset rows(String columns) {
        ParquetFileFormat format = new ParquetFileFormat();
        scala.collection.immutable.Map options = scala.collection.immutable.Map$.MODULE$.empty();
        StructType schema = new StructType();
        if (columns == null) {
            Map merging = new HashMap();
            merging.put("mergeSchema", "true");
            options = scala.collection.immutable.Map$.MODULE$.from(
                CollectionConverters.asScala(merging));
            Option inferred = format.inferSchema(session, options, allFiles());
            if (inferred.isDefined()) {
                schema = (StructType) inferred.get();
            }
        } else if (!columns.isEmpty()) {
            schema = StructType.fromDDL(columns);
        }
        return session.baseRelationToDataFrame(new HadoopFsRelation(
            this, spec.partitionColumns(), schema, Option.apply(null), format, options, session));
    }

    private java.util.Collection leaves() {
        return CollectionConverters.asJava(leafFiles()).values();
    }

    /** Makes them of texts, which cost one call each: parts of them end at a zero character. */
    public static class Maker {
        private final SparkSession session;
        private final StructType types;
        private final String[] texts;

        /** `values` are those of all partitions one after the other; an empty one is NULL. */
        public Maker(SparkSession session, String columns, String values) {
            this.session = session;
            this.types = columns.isEmpty() ? new StructType() : StructType.fromDDL(columns);
            this.texts = columns.isEmpty() ? new String[0] : values.split("\0", -1);
        }

        /** Returns which of the values their columns cannot hold, by where they were told. */
        public String unfit() {
            StringBuilder found = new StringBuilder();
            for (int at = 0; at < texts.length; at++) {
                if (!texts[at].isEmpty() && typed(at) == null) {
                    found.append(found.length() == 0 ? "" : ",").append(at);
                }
            }
            return found.toString();
        }

        /** Returns the files at paths, each of the partition and the file of a number. */
        public LedgerFiles files(String paths, String partitions, String files) throws Exception {
            Configuration hadoop = session.sparkContext().hadoopConfiguration();
            Map folders = new LinkedHashMap();
            Map numbers = new HashMap();
            String[] partition = partitions.split(",");
            String[] file = files.split(",");
            String[] path = paths.split("\0", -1);
            for (int at = 0; at < path.length; at++) {
                Path told = new Path(path[at]);
                Path whole = told.getFileSystem(hadoop).makeQualified(told);
                Integer number = Integer.valueOf(file[at]);
                Object other = numbers.put(whole, number);
                if (other != null && !other.equals(number)) {
                    throw new IllegalArgumentException(whole + " is two files of the ledger");
                }
                folders.put(whole, folder(partition[at]));
            }
            return new LedgerFiles(session, spec(), folders, numbers);
        }

        private PartitionSpec spec() {
            int width = types.fields().length;
            List found = new ArrayList();
            for (int from = 0; width > 0 && from < texts.length; from += width) {
                Object[] values = new Object[width];
                for (int at = 0; at < width; at++) {
                    values[at] = typed(from + at);
                }
                Path folder = folder(String.valueOf(from / width));
                found.add(new PartitionPath(new GenericInternalRow(values), folder));
            }
            return new PartitionSpec(types, CollectionConverters.asScala(found).toSeq());
        }

        private Path folder(String partition) {
            return new Path("/" + partition);
        }

        private Object typed(int at) {
            if (texts[at].isEmpty()) {
                return null;
            }
            StructField[] fields = types.fields();
            Literal text = new Literal(UTF8String.fromString(texts[at]), StringType$.MODULE$);
            String zone = session.conf().get("spark.sql.session.timeZone");
            return new Cast(
                text,
                fields[at % fields.length].dataType(),
                Option.apply(zone),
                EvalMode$.MODULE$.TRY()).eval(null);
        }
    }
}
