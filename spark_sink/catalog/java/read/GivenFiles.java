package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * A table whose answer for a scan comes with it: no catalog is needed, and nothing is asked. Python
 * gives the answer for a table, with the answer for its files as "files".
 */
public class GivenFiles extends FileRelation implements SupportsMetadataColumns {
    /** So many files are looked for at once. */
    private static final int LOOKING = 16;

    private final SparkSession session;

    public GivenFiles(SparkSession session, String answer) throws Exception {
        super(null, Json.read(answer));
        this.session = session;
    }

    JsonNode planned(String word, ObjectNode asked) {
        return Json.at(answer, "files");
    }

    public String name() {
        return Json.text(answer, "name");
    }

    public Set<TableCapability> capabilities() {
        return EnumSet.of(TableCapability.BATCH_READ);
    }

    public MetadataColumn[] metadataColumns() {
        return new MetadataColumn[] {new LedgerTable.HiddenColumn(file, DataTypes.StringType)};
    }

    public Dataset frame() {
        return Dataset$.MODULE$.ofRows(
            session,
            DataSourceV2Relation.create(this, Option.apply(null), Option.apply(null)));
    }

    /** How many files have values that their columns cannot hold, and the refusal of one. */
    public String unfit() throws Exception {
        ArrayNode said = Json.array();
        Option before = SparkSession.getActiveSession();
        SparkSession.setActiveSession(session);
        try {
            HashMap found = new PlannedFiles(this).unfit();
            said.add(found.size());
            if (!found.isEmpty()) said.add((String) found.values().iterator().next());
        } finally {
            if (before.isDefined()) SparkSession.setActiveSession((SparkSession) before.get());
            else SparkSession.clearActiveSession();
        }
        return Json.text(said);
    }

    /** The whole path and the size of each file, null for a path at which there is no file. */
    public static String found(SparkSession session, String paths) throws Exception {
        Configuration hadoop = session.sessionState().newHadoopConf();
        String[] all = Json.texts(Json.read(paths));
        ExecutorService pool = Executors.newFixedThreadPool(LOOKING);
        ArrayNode found = Json.array();
        try {
            List looks = new ArrayList();
            for (int i = 0; i < all.length; i++) looks.add(pool.submit(new Look(all[i], hadoop)));
            for (int i = 0; i < all.length; i++) {
                FileStatus status = (FileStatus) ((Future) looks.get(i)).get();
                if (status == null) {
                    found.addNull();
                } else {
                    ArrayNode each = found.addArray();
                    each.add(status.getPath().toString());
                    each.add(status.getLen());
                }
            }
        } catch (ExecutionException problem) {
            // PySpark knows this class, and may not know that of the storage.
            throw new IllegalArgumentException(String.valueOf(problem.getCause()), problem.getCause());
        } finally {
            pool.shutdownNow();
        }
        return Json.text(found);
    }

    static class Look implements Callable {
        private final String path;
        private final Configuration hadoop;

        Look(String path, Configuration hadoop) {
            this.path = path;
            this.hadoop = hadoop;
        }

        public Object call() throws Exception {
            Path place = new Path(path);
            FileSystem system = place.getFileSystem(hadoop);
            try {
                FileStatus found = system.getFileStatus(place);
                return found.isDirectory() ? null : found;
            } catch (FileNotFoundException absent) {
                return null;
            }
        }
    }

    /** The columns that some files have, all together. */
    public static String columns(SparkSession session, String paths, String sizes) throws Exception {
        String[] all = Json.texts(Json.read(paths));
        JsonNode bytes = Json.read(sizes);
        List files = new ArrayList();
        for (int i = 0; i < all.length; i++) {
            long size = Json.item(bytes, i).asLong();
            files.add(new FileStatus(size, false, 1, size, 0L, new Path(all[i])));
        }
        HashMap merging = new HashMap();
        merging.put("mergeSchema", "true");
        Option found = new ParquetFileFormat().inferSchema(
            session, Scala.map(merging), Scala.seq(files));
        StructType schema = found.isDefined() ? (StructType) found.get() : new StructType();
        return Json.text(Columns.toJson(schema));
    }
}
