package lakeledger;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.roaringbitmap.RoaringBitmap;

/**
 * The rows of files that a statement updates and deletes, as bitmaps of their numbers by the paths.
 *
 * A MERGE whose only clause deletes may delete a row several times, once for each row of its source.
 * A row that is updated can be named once: it would be there twice afterwards.
 */
final class Marks {
    final HashMap updated;
    final HashMap deleted;
    long inserted;

    Marks() {
        this(new HashMap(), new HashMap(), 0);
    }

    Marks(HashMap updated, HashMap deleted, long inserted) {
        this.updated = updated;
        this.deleted = deleted;
        this.inserted = inserted;
    }

    void update(String path, long row) {
        int number = number(path, row);
        boolean isNew = of(updated, path).checkedAdd(number);
        if (!isNew || has(deleted, path, number)) throw twice(path, number);
    }

    void delete(String path, long row) {
        int number = number(path, row);
        of(deleted, path).add(number);
        if (has(updated, path, number)) throw twice(path, number);
    }

    /** Adds the rows of another task. */
    void add(Marks other) {
        inserted += other.inserted;
        for (Object item : other.deleted.entrySet()) {
            Map.Entry each = (Map.Entry) item;
            of(deleted, (String) each.getKey()).or((RoaringBitmap) each.getValue());
        }
        for (Object item : other.updated.entrySet()) {
            Map.Entry each = (Map.Entry) item;
            RoaringBitmap rows = (RoaringBitmap) each.getValue();
            RoaringBitmap known = of(updated, (String) each.getKey());
            checkApart((String) each.getKey(), known, rows);
            known.or(rows);
        }
    }

    String[] paths() {
        TreeSet all = new TreeSet(updated.keySet());
        all.addAll(deleted.keySet());
        return (String[]) all.toArray(new String[0]);
    }

    /** All rows of a file that go, in RoaringBitmap's portable form. */
    byte[] rows(String path) {
        RoaringBitmap all = of(updated, path);
        RoaringBitmap gone = of(deleted, path);
        checkApart(path, all, gone);
        return bytes(RoaringBitmap.or(all, gone));
    }

    long updated() {
        return count(updated);
    }

    long deleted() {
        return count(deleted);
    }

    private static long count(HashMap rows) {
        long found = 0;
        for (Object each : rows.values()) found += ((RoaringBitmap) each).getLongCardinality();
        return found;
    }

    private static RoaringBitmap of(HashMap rows, String path) {
        RoaringBitmap found = (RoaringBitmap) rows.get(path);
        if (found == null) {
            found = new RoaringBitmap();
            rows.put(path, found);
        }
        return found;
    }

    private static boolean has(HashMap rows, String path, int number) {
        RoaringBitmap found = (RoaringBitmap) rows.get(path);
        return found != null && found.contains(number);
    }

    private static int number(String path, long row) {
        if (row >= 0 && row < Integer.MAX_VALUE) return (int) row;
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            "a row that is marked must have a number below " + Integer.MAX_VALUE + " in its file, got "
                + row + " in " + path + ": run OPTIMIZE");
    }

    private static void checkApart(String path, RoaringBitmap one, RoaringBitmap other) {
        RoaringBitmap both = RoaringBitmap.and(one, other);
        if (!both.isEmpty()) throw twice(path, both.first());
    }

    private static Refused twice(String path, int number) {
        return new Refused(
            "LEDGER_UNSUPPORTED",
            "a statement must change a row once, got row " + number + " of " + path + " twice");
    }

    /** Bitmaps as bytes, which every serializer of Spark takes. */
    static HashMap bytes(HashMap rows) {
        HashMap found = new HashMap();
        for (Object item : rows.entrySet()) {
            Map.Entry each = (Map.Entry) item;
            found.put(each.getKey(), bytes((RoaringBitmap) each.getValue()));
        }
        return found;
    }

    private static byte[] bytes(RoaringBitmap rows) {
        rows.runOptimize();
        ByteBuffer made = ByteBuffer.allocate(rows.serializedSizeInBytes());
        rows.serialize(made);
        return made.array();
    }

    static HashMap bitmaps(HashMap bytes) {
        HashMap found = new HashMap();
        try {
            for (Object item : bytes.entrySet()) {
                Map.Entry each = (Map.Entry) item;
                RoaringBitmap rows = new RoaringBitmap();
                rows.deserialize(ByteBuffer.wrap((byte[]) each.getValue()));
                found.put(each.getKey(), rows);
            }
        } catch (IOException problem) {
            throw new IllegalStateException(problem);
        }
        return found;
    }
}
