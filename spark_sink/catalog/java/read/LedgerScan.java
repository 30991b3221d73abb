package lakeledger;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Seq;

/**
 * A scan by Spark's vectorised Parquet reader.
 *
 * Files from before a column was renamed, dropped or added have other names for the columns. Their
 * group gets a reader of its own, with those names, and no filter by name.
 */
class LedgerScan implements Batch, SupportsReportStatistics, SupportsRuntimeV2Filtering {
    /** The column that Spark's readers of Parquet fill with the numbers of rows in their file. */
    static final String GENERATED = "_tmp_metadata_row_index";
    private static final String[] LEFT_OUT = {"ignoreMissingFiles", "ignoreCorruptFiles"};

    final FileRelation table;
    /** Whether batches of a stream are read. */
    boolean isStreamed;
    /** The files that a statement reads to write them again; null before it was planned. */
    List planned;
    /** The columns that Spark named, in its order. */
    final StructType inOrder;
    private final RowOperation operation;
    private final CaseInsensitiveStringMap given;
    private ParquetScan inner;
    private PlannedFiles files;

    LedgerScan(
        FileRelation table,
        ParquetScan inner,
        StructType inOrder,
        PlannedFiles files,
        RowOperation operation,
        CaseInsensitiveStringMap given) {
        this.table = table;
        this.inner = inner;
        this.inOrder = inOrder;
        this.files = files;
        this.operation = operation;
        this.given = given;
    }

    public StructType readSchema() {
        return inner.readSchema();
    }

    public String description() {
        return "ledger " + table.key() + " " + inner.description();
    }

    public Batch toBatch() {
        checkOptions("query");
        return this;
    }

    public MicroBatchStream toMicroBatchStream(String checkpoint) {
        isStreamed = true;
        checkOptions("stream");
        return new LedgerStream(this, inner.options(), inner.hadoopConf(), checkpoint);
    }

    private void checkOptions(String use) {
        String all = table instanceof LedgerChanges ? use + " of changes" : use;
        ReadOptions.check(table.catalog, all, given, Json.text(table.answer, "name"));
    }

    public Statistics estimateStatistics() {
        return inner.estimateStatistics();
    }

    public InputPartition[] planInputPartitions() {
        if (operation != null && !operation.marks()) {
            planned = files.paths(inner.partitionFilters(), inner.dataFilters());
        }
        return partitions(files);
    }

    /** The partitions of a read of some files of this table. */
    InputPartition[] partitions(PlannedFiles files) {
        List all = new ArrayList();
        for (int group = 0; group < files.groups(); group++) {
            InputPartition[] found = over(files, group).planInputPartitions();
            for (int i = 0; i < found.length; i++) {
                FilePartition part = toEnds(found[i]);
                if (files.marked(group)) addWhole(all, group, part);
                else all.add(new GroupPartition(group, part));
            }
        }
        all.addAll(Rewrites.parts(files, inner.partitionFilters(), inner.dataFilters()));
        return (InputPartition[]) all.toArray(new InputPartition[0]);
    }

    /** Adds a part for each file that begins in a part: deleted rows are numbered from the first. */
    private static void addWhole(List all, int group, FilePartition part) {
        PartitionedFile[] files = part.files();
        for (int i = 0; i < files.length; i++) {
            PartitionedFile file = files[i];
            if (file.start() > 0) continue;
            PartitionedFile whole = new PartitionedFile(
                file.partitionValues(), file.filePath(), 0L, Long.MAX_VALUE, file.locations(),
                file.modificationTime(), file.fileSize(), file.otherConstantMetadataColumnValues());
            all.add(new GroupPartition(
                group, new FilePartition(part.index(), new PartitionedFile[] {whole})));
        }
    }

    /** The ledger may know too small a size of a file: its last part goes to its end. */
    private static FilePartition toEnds(InputPartition part) {
        FilePartition given = (FilePartition) part;
        PartitionedFile[] files = given.files();
        PartitionedFile[] whole = new PartitionedFile[files.length];
        for (int i = 0; i < files.length; i++) {
            PartitionedFile file = files[i];
            boolean last = file.start() + file.length() >= file.fileSize();
            whole[i] = new PartitionedFile(
                file.partitionValues(), file.filePath(), file.start(),
                last ? Long.MAX_VALUE - file.start() : file.length(), file.locations(),
                file.modificationTime(), file.fileSize(), file.otherConstantMetadataColumnValues());
        }
        return new FilePartition(given.index(), whole);
    }

    public PartitionReaderFactory createReaderFactory() {
        return readers(files, readSchema());
    }

    /** The readers of some files, with columns in the order in which Spark asks for them. */
    PartitionReaderFactory readers(PlannedFiles files, StructType asked) {
        PartitionReaderFactory[] all = new PartitionReaderFactory[files.groups()];
        boolean compares = !files.rewritten().isEmpty();
        PartitionReaderFactory[] rewrites = new PartitionReaderFactory[compares ? all.length : 0];
        for (int group = 0; group < all.length; group++) {
            all[group] = left(new FileReaders(over(files, group).createReaderFactory()), files, group);
            if (!compares) continue;
            rewrites[group] =
                left(new FileReaders(whole(files, group).createReaderFactory()), files, group);
        }
        int compared = table.data.length() + table.partitionColumns.length;
        return new ScanReaders(
            all, readSchema(), asked, rewrites, table.whole(), compared, files.unfit());
    }

    private static PartitionReaderFactory left(
        PartitionReaderFactory readers, PlannedFiles files, int group) {
        return files.marked(group) ? new DeletedRows(readers) : readers;
    }

    /** The scan of whole rows of a group, without any filter. */
    private ParquetScan whole(PlannedFiles files, int group) {
        StructType data = renamed(table.data, files, group);
        Seq none = Scala.seq(new ArrayList());
        return new ParquetScan(
            inner.sparkSession(), LoggedRows.known(inner.hadoopConf()), files, data, data,
            table.constants, new Filter[0], options(), inner.pushedAggregate(), none, none,
            inner.pushedVariantExtractions());
    }

    /** The scan of one group of files, with the names that its columns have there. */
    private ParquetScan over(PlannedFiles files, int group) {
        boolean same = Arrays.equals(files.names(group), table.data.fieldNames())
            && String.join("", files.types(group)).isEmpty();
        return new ParquetScan(
            inner.sparkSession(),
            LoggedRows.known(inner.hadoopConf()),  // The reader keeps its columns in there.
            files.of(group),
            same ? inner.dataSchema() : renamed(inner.dataSchema(), files, group),
            same ? valued(inner.readDataSchema()) : renamed(inner.readDataSchema(), files, group),
            inner.readPartitionSchema(),
            same && !files.marked(group) ? filters() : new Filter[0],
            options(),
            inner.pushedAggregate(),
            inner.partitionFilters(),
            inner.dataFilters(),
            inner.pushedVariantExtractions());
    }

    /** The filters that Parquet applies: files have no column for the numbers of rows. */
    private Filter[] filters() {
        List found = new ArrayList();
        Filter[] pushed = inner.pushedFilters();
        for (int i = 0; i < pushed.length; i++) {
            if (!Arrays.asList(pushed[i].references()).contains(table.row)) found.add(pushed[i]);
        }
        return (Filter[]) found.toArray(new Filter[0]);
    }

    /**
     * The options of Spark's reader. Only a query may leave out files that are gone or damaged, if
     * its session or its options say so: what writes would lose their rows for good.
     */
    private CaseInsensitiveStringMap options() {
        boolean mayLeaveOut =
            !isStreamed && operation == null && table instanceof LedgerTable && !Statement.writes();
        if (mayLeaveOut) return inner.options();
        HashMap all = new HashMap(inner.options().asCaseSensitiveMap());
        for (int i = 0; i < LEFT_OUT.length; i++) {
            if (inner.options().getBoolean(LEFT_OUT[i], false)) {
                throw new Refused(
                    "LEDGER_UNSUPPORTED",
                    LEFT_OUT[i] + " must be false where rows are written, streamed, or compared, "
                        + "got true: bring the files back, or remove them from the table");
            }
            all.put(LEFT_OUT[i], "false");
        }
        return new CaseInsensitiveStringMap(all);
    }

    private StructType renamed(StructType schema, PlannedFiles files, int group) {
        String[] names = files.names(group);
        String[] types = files.types(group);
        StructType made = new StructType();
        for (int i = 0; i < schema.length(); i++) {
            StructField field = schema.fields()[i];
            if (field.name().equals(table.row)) {
                made = made.add(GENERATED, field.dataType(), true);
                continue;
            }
            int at = table.data.fieldIndex(field.name());
            String name = names[at];
            // No file has a column of this name, so its values are NULL.
            if (name == null) name = "\u0001absent " + field.name();
            DataType type = field.dataType();
            if (!types[at].isEmpty()) {
                DataType there = CatalystSqlParser$.MODULE$.parseDataType(types[at]);
                type = FieldNames.of(type, table.data.fields()[at].dataType(), there);
            }
            made = made.add(name, type, field.nullable(), table.data.fields()[at].metadata());
        }
        return made;
    }

    /** Columns with their values in files that lack them, which Spark's plans do not know. */
    private StructType valued(StructType schema) {
        StructType made = new StructType();
        for (int i = 0; i < schema.length(); i++) {
            StructField field = schema.fields()[i];
            if (field.name().equals(table.row)) {
                made = made.add(GENERATED, field.dataType(), true);
                continue;
            }
            int at = table.data.fieldIndex(field.name());
            made = made.add(
                field.name(), field.dataType(), field.nullable(),
                table.data.fields()[at].metadata());
        }
        return made;
    }

    public NamedReference[] filterAttributes() {
        if (operation != null) {
            // Spark reads the source twice to find the files, and such a source may differ then.
            if (!Statement.sources().repeat) return new NamedReference[0];
            if (!operation.marks()) {
                if (table.fillsUp()) return new NamedReference[0];
                return new NamedReference[] {Identifiers.column(table.file)};
            }
        }
        // A rewrite is read whole.
        if (table instanceof LedgerChanges) return new NamedReference[0];
        List read = Arrays.asList(inner.readSchema().fieldNames());
        List found = new ArrayList();
        for (int i = 0; i < table.partitionColumns.length; i++) {
            String name = table.partitionColumns[i];
            if (read.contains(name)) found.add(Identifiers.column(name));
        }
        return (NamedReference[]) found.toArray(new NamedReference[0]);
    }

    /** The id of the deletion vector with which a file is read, "" without one. */
    String vector(String path) {
        return files.vector(path);
    }

    /** Keeps the files whose constant is among the values that Spark found while it ran. */
    public void filter(Predicate[] predicates) {
        Set kept = null;
        for (int i = 0; i < predicates.length; i++) {
            if (!predicates[i].name().equals("IN")) continue;
            if (!(predicates[i].children()[0] instanceof NamedReference)) continue;
            String[] names = ((NamedReference) predicates[i].children()[0]).fieldNames();
            Set values = new HashSet();
            for (int k = 1; k < predicates[i].children().length; k++) {
                values.add(((Literal) predicates[i].children()[k]).value());
            }
            Set having = files.having(names[0], values);
            if (kept == null) kept = having;
            else kept.retainAll(having);
        }
        if (kept != null) files = files.keeping(kept);
    }

    public boolean equals(Object other) {
        if (!(other instanceof LedgerScan)) return false;
        LedgerScan that = (LedgerScan) other;
        return operation == null
            && that.operation == null
            && that.files.equals(files)
            && that.inner.equals(inner);
    }

    public int hashCode() {
        return inner.hashCode();
    }
}
