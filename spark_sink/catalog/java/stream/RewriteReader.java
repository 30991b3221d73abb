package lakeledger;

import java.io.IOException;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/**
 * The net rows of a rewrite: rows of removed files are counted and kept in memory, rows of added
 * files are set off against them. What is left went or came.
 */
public class RewriteReader implements PartitionReader {
    private final RewritePart part;
    private final PartitionReaderFactory[] groups;
    private final UnsafeProjection compared;
    private final UnsafeProjection asked;
    private final JoinedRow whole = new JoinedRow();
    private Map before;
    private int file = -1;
    private PartitionReader open;
    private Iterator left;
    private UnsafeRow row;
    private int times;
    private InternalRow current;

    /** `compared` are the columns that make rows equal, `asked` what Spark wants of them. */
    public RewriteReader(
        RewritePart part,
        PartitionReaderFactory[] groups,
        UnsafeProjection compared,
        UnsafeProjection asked) {
        this.part = part;
        this.groups = groups;
        this.compared = compared;
        this.asked = asked;
    }

    public boolean next() throws IOException {
        if (before == null) remember();
        while (left == null) {
            UnsafeRow found = following(false);
            if (found == null) {
                left = before.entrySet().iterator();
                break;
            }
            int[] count = (int[]) before.get(found);
            if (count == null || count[0] == 0) return give(found, part.come);
            count[0]--;
        }
        while (times == 0) {
            if (!left.hasNext()) return false;
            Map.Entry entry = (Map.Entry) left.next();
            row = (UnsafeRow) entry.getKey();
            times = ((int[]) entry.getValue())[0];
        }
        times--;
        return give(row, part.gone);
    }

    private boolean give(UnsafeRow found, InternalRow said) {
        current = asked.apply(whole.apply(found, said));
        return true;
    }

    private void remember() throws IOException {
        before = new HashMap();
        for (UnsafeRow found = following(true); found != null; found = following(true)) {
            int[] count = (int[]) before.get(found);
            if (count == null) before.put(found.copy(), new int[] {1});
            else count[0]++;
        }
        file = -1;
    }

    /** The next row of this slice from the files that were removed, or added; null at the end. */
    private UnsafeRow following(boolean removed) throws IOException {
        while (true) {
            if (open == null) {
                do file++; while (file < part.files.length && part.removed[file] != removed);
                if (file == part.files.length) return null;
                open = groups[part.groups[file]].createReader(part.files[file]);
            }
            while (open.next()) {
                UnsafeRow found = compared.apply((InternalRow) open.get());
                if (Math.floorMod(found.hashCode(), part.slices) == part.slice) return found;
            }
            open.close();
            open = null;
        }
    }

    public Object get() {
        return current;
    }

    public void close() throws IOException {
        if (open != null) open.close();
        open = null;
    }
}
