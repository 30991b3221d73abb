package lakeledger;

import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Some rows of a column, which its reader owns and closes. */
public class KeptRows extends ColumnVector {
    private final ColumnVector inner;
    private final int[] rows;

    public KeptRows(ColumnVector inner, int[] rows) {
        super(inner.dataType());
        this.inner = inner;
        this.rows = rows;
    }

    public void close() {}

    public void closeIfFreeable() {}

    public boolean hasNull() {
        return inner.hasNull();
    }

    public int numNulls() {
        int found = 0;
        for (int i = 0; i < rows.length; i++) if (isNullAt(i)) found++;
        return found;
    }

    public boolean isNullAt(int row) {
        return inner.isNullAt(rows[row]);
    }

    public boolean getBoolean(int row) {
        return inner.getBoolean(rows[row]);
    }

    public byte getByte(int row) {
        return inner.getByte(rows[row]);
    }

    public short getShort(int row) {
        return inner.getShort(rows[row]);
    }

    public int getInt(int row) {
        return inner.getInt(rows[row]);
    }

    public long getLong(int row) {
        return inner.getLong(rows[row]);
    }

    public float getFloat(int row) {
        return inner.getFloat(rows[row]);
    }

    public double getDouble(int row) {
        return inner.getDouble(rows[row]);
    }

    public ColumnarArray getArray(int row) {
        return inner.getArray(rows[row]);
    }

    public ColumnarMap getMap(int row) {
        return inner.getMap(rows[row]);
    }

    public UTF8String getUTF8String(int row) {
        return inner.getUTF8String(rows[row]);
    }

    public byte[] getBinary(int row) {
        return inner.getBinary(rows[row]);
    }

    public Decimal getDecimal(int row, int precision, int scale) {
        return inner.getDecimal(rows[row], precision, scale);
    }

    /** The fields of structs have the rows of their structs. */
    public ColumnVector getChild(int place) {
        return new KeptRows(inner.getChild(place), rows);
    }
}
