package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.DeleteSummary;
import org.apache.spark.sql.connector.write.MergeSummary;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.UpdateSummary;
import org.apache.spark.sql.connector.write.WriteSummary;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.WriteJobDescription;
import org.apache.spark.sql.execution.datasources.WriteTaskResult;
import org.apache.spark.sql.execution.datasources.v2.FileBatchWrite;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetWrite;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;

/**
 * One write by Spark's own Parquet job. It differs from Spark's FileWrite in two points: it has
 * the partition columns, and files are written where they stay.
 */
class LedgerBatch implements BatchWrite {
    private static final String CALENDAR = "spark.sql.parquet.datetimeRebaseModeInWrite";
    private static final String LEGACY = "LEGACY";

    /** The answer to "stage", and what is said of the write when it is over. */
    final ObjectNode told;
    private final LedgerWriteBuilder what;
    private final JsonNode staged;
    /** The job that writes files, null for a write without rows. */
    private FileBatchWrite inner;
    private Attribute[] all;
    private Division division;

    LedgerBatch(LedgerWriteBuilder what, boolean streamed) {
        this.what = what;
        checkLengths();
        if (what.operation != null) what.operation.begin();
        told = what.table.about()
            .put("streamed", streamed)
            .put("zone", Session.zone())
            .put("mode", what.mode)
            .put("execution", Session.execution());
        told.set("options", ReadOptions.asGiven(what.info.options()));
        told.set("constraints", what.table.leftToSpark());
        told.set("where", Conditions.of(what.where));
        staged = what.table.catalog.ask("stage", told);
        told.put("write", Json.text(staged, "write"));
        try {
            inner = what.hasRows() ? job() : null;
        } catch (Throwable problem) {
            Platform.throwException(problem);
        }
    }

    /** Spark checks no lengths under a setting that makes all texts STRING. */
    private void checkLengths() {
        boolean unchecked = Session.spark().sessionState().conf().charVarcharAsString();
        if (unchecked && CharVarcharUtils.hasCharVarchar(what.table.schema)) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "spark.sql.legacy.charVarcharAsString must be false to write into table "
                    + what.table.name() + ", which has CHAR or VARCHAR columns, got true: unset it");
        }
    }

    private FileBatchWrite job() throws Throwable {
        org.apache.spark.sql.classic.SparkSession spark = Session.spark();
        scala.collection.immutable.Map options =
            Scala.map(new HashMap(what.info.options().asCaseSensitiveMap()));
        String folder = Json.text(staged, "folder");
        Configuration configuration = spark.sessionState().newHadoopConfWithOptions(options);
        Job job = Job.getInstance(configuration);
        job.setOutputKeyClass(Void.class);
        job.setOutputValueClass(InternalRow.class);
        FileOutputFormat.setOutputPath(job, new Path(folder));
        StructType given =
            (StructType) CharVarcharUtils.replaceCharVarcharWithStringInSchema(what.info.schema());
        JsonNode divided = Json.at(staged, "divided");
        List attributes = Scala.list(DataTypeUtils.toAttributes(nullable(given, divided)));
        all = (Attribute[]) attributes.toArray(new Attribute[0]);
        division = new Division(divided, all);
        StructType stored = new StructType();
        for (int i = 0; i < all.length; i++) {
            if (division.stored.contains(all[i])) stored = stored.add(stored(given.fields()[i]));
        }
        OutputWriterFactory writers =
            new ParquetWrite(
                Scala.seq(Collections.singletonList(folder)), "parquet", null, what.info)
                .prepareWrite(spark.sessionState().conf(), job, options, stored);
        Configuration parquet = job.getConfiguration();
        // Forms that every reader of the ledger's tables knows, whatever the session prefers.
        parquet.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS");
        parquet.set("spark.sql.parquet.writeLegacyFormat", "false");
        parquet.set("spark.sql.parquet.fieldId.write.enabled", "true");
        parquet.set("parquet.summary.metadata.level", "NONE");
        // Hadoop would put a file of checksums beside each one on a local disk, which no cleaner
        // knows. The file system is kept by scheme, so that of the session must not be taken.
        parquet.setIfUnset("fs.file.impl", RawLocalFileSystem.class.getName());
        parquet.setBoolean("fs.file.impl.disable.cache", true);
        String[] filtered = Json.texts(Json.at(staged, "filtered"));
        parquet.set("parquet.bloom.filter.adaptive.enabled", "true");
        for (int i = 0; i < filtered.length; i++) {
            parquet.set("parquet.bloom.filter.enabled#" + filtered[i], "true");
        }
        String id = UUID.randomUUID().toString();
        long rowsMax = spark.sessionState().conf().maxRecordsPerFile();
        if (what.info.options().containsKey("maxRecordsPerFile")) {
            rowsMax = Long.parseLong(what.info.options().get("maxRecordsPerFile"));
        }
        WriteJobDescription description =
            new WriteJobDescription(
                id,
                new SerializableConfiguration(parquet),
                writers,
                Scala.seq(division.rows),
                Scala.seq(division.stored),
                Scala.seq(division.partitions),
                Option.apply(null),
                folder,
                Scala.map(new HashMap()),
                rowsMax,
                "UTC",
                Scala.seq(new java.util.ArrayList()));
        DirectCommit commit =
            new DirectCommit(
                folder, Json.text(staged, "below"), Json.text(staged, "writer"),
                division.derived);
        commit.setupJob(job);
        return new FileBatchWrite(job, description, commit);
    }

    /** The writer of partitions trusts "not null", though an empty text becomes NULL. */
    private static StructType nullable(StructType given, JsonNode divided) {
        HashSet inside = new HashSet();
        for (int i = 0; i < divided.size(); i++) {
            inside.add(Json.text(Json.item(divided, i), "column"));
        }
        StructType made = new StructType();
        for (int i = 0; i < given.length(); i++) {
            StructField field = given.fields()[i];
            // A text may become NULL, and what is computed is NULL before.
            boolean may = field.nullable() || inside.contains(field.name());
            made = made.add(field.name(), field.dataType(), may, field.metadata());
        }
        return made;
    }

    /** A column with the name and the id that it has in data files. */
    private StructField stored(StructField field) {
        JsonNode known = Json.at(Json.at(staged, "stored"), field.name());
        MetadataBuilder metadata = new MetadataBuilder();
        long id = Json.at(known, "id").asLong();
        if (id > 0) metadata.putLong("parquet.field.id", id);
        return new StructField(
            Json.text(known, "name"),
            FieldNames.stored(field.dataType(), Json.at(known, "in")),
            Json.at(known, "nullable").asBoolean(),
            metadata.build());
    }

    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        if (inner == null) return null;
        keepCalendar();
        DataWriterFactory factory = inner.createBatchWriterFactory(info);
        factory = division.over(factory);
        boolean rewrites = what.operation != null;
        return new ComputedColumns(staged, what.table.catalog.name(), all, rewrites).over(factory);
    }

    /**
     * Other readers take days of files as Gregorian. A task knows the settings of its session by
     * the properties of this thread, which Spark sets back after the statement.
     */
    private static void keepCalendar() {
        SparkContext context = Session.spark().sparkContext();
        if (LEGACY.equalsIgnoreCase(context.getLocalProperty(CALENDAR))) {
            context.setLocalProperty(CALENDAR, "CORRECTED");
        }
    }

    /** Of two attempts of a task one may commit: files are written where they stay. */
    public boolean useCommitCoordinator() {
        return true;
    }

    /** Spark counts the rows of an UPDATE, DELETE or MERGE; -1 = not counted. */
    public void commit(WriterCommitMessage[] messages, WriteSummary summary) {
        ObjectNode counts = told.putObject("rows");
        if (summary instanceof MergeSummary) {
            MergeSummary found = (MergeSummary) summary;
            counts.put("inserted", found.numTargetRowsInserted());
            counts.put("updated", found.numTargetRowsUpdated());
            counts.put("deleted", found.numTargetRowsDeleted());
        } else if (summary instanceof UpdateSummary) {
            counts.put("updated", ((UpdateSummary) summary).numUpdatedRows());
        } else if (summary instanceof DeleteSummary) {
            counts.put("deleted", ((DeleteSummary) summary).numDeletedRows());
        }
        commit(messages);
    }

    public void commit(WriterCommitMessage[] messages) {
        if (what.operation != null) what.operation.end();
        if (inner != null) inner.commit(messages);
        tellFiles(messages);
        if (what.operation != null && !what.operation.marks()) tellRemoved(what.operation.scan);
        what.table.catalog.ask("wrote", told);
    }

    private void tellRemoved(LedgerScan scan) {
        if (scan == null || scan.planned == null) return;
        ArrayNode removed = told.putArray("removed");
        for (Object path : scan.planned) {
            removed.addArray().add((String) path).add(scan.vector((String) path));
        }
    }

    public void abort(WriterCommitMessage[] messages) {
        tellFiles(messages);
        what.table.catalog.ask("unstage", told);
    }

    private void tellFiles(WriterCommitMessage[] messages) {
        ArrayNode files = told.putArray("files");
        boolean hasResults = division != null && division.hasResults();
        ArrayNode results = hasResults ? told.putArray("results") : null;
        for (int i = 0; i < messages.length; i++) {
            if (!(messages[i] instanceof WriteTaskResult)) continue;
            List made = (List) ((WriteTaskResult) messages[i]).commitMsg().obj();
            for (Object item : made) {
                String[] each = (String[]) item;
                files.add(each[0]);
                if (!hasResults) continue;
                ArrayNode own = results.addArray();
                for (int k = 1; k < each.length; k++) own.add(each[k]);
            }
        }
    }
}
