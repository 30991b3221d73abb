package lakeledger;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A partition transform as a function of Spark: its results are the texts of the log. Files are
 * divided by it, and rows are brought together by it before. A kind that begins with rank_ has texts
 * that sort as the results do, by which rows are ordered. Only the catalog itself names it.
 */
public class PartitionFunction implements ScalarFunction, UnboundFunction {
    private static final String BEFORE = "lakeledger.";
    static final String RANK = "rank_";
    private static final long DAY = 86400000000L;
    private static final long HOUR = 3600000000L;

    private final String kind;
    private final int width;
    /** The type of the values, null before it is known. */
    private final DataType type;

    PartitionFunction(String kind, int width, DataType type) {
        this.kind = kind;
        this.width = width;
        this.type = type;
    }

    /** The name by which Spark finds a function in the catalog. */
    static String name(String kind, int width) {
        return BEFORE + kind + "." + width;
    }

    /** The function of a name, null for a name of none. */
    static PartitionFunction named(String name) {
        if (!name.startsWith(BEFORE)) return null;
        String[] parts = name.substring(BEFORE.length()).split("\\.");
        if (parts.length != 2 || !parts[1].matches("[0-9]{1,10}")) return null;
        return new PartitionFunction(parts[0], Integer.parseInt(parts[1]), null);
    }

    public BoundFunction bind(StructType given) {
        return (BoundFunction) new PartitionFunction(kind, width, given.fields()[0].dataType());
    }

    public String description() {
        return said();
    }

    public String name() {
        return name(kind, width);
    }

    public String canonicalName() {
        return name();
    }

    public DataType[] inputTypes() {
        return new DataType[] {type};
    }

    public DataType resultType() {
        return DataTypes.StringType;
    }

    public boolean equals(Object other) {
        if (!(other instanceof PartitionFunction)) return false;
        PartitionFunction that = (PartitionFunction) other;
        return that.name().equals(name()) && Objects.equals(that.type, type);
    }

    public int hashCode() {
        return name().hashCode();
    }

    public String toString() {
        return said();
    }

    private String said() {
        return width > 0 ? kind + " of " + width : kind;
    }

    public Object produceResult(InternalRow given) {
        if (given.isNullAt(0)) return null;
        return UTF8String.fromString(result(given));
    }

    private String result(InternalRow given) {
        return kind.startsWith(RANK) ? rank(given) : result(kind, given);
    }

    private String rank(InternalRow given) {
        String of = kind.substring(RANK.length());
        if (!of.equals("truncate") || type instanceof StringType) {
            String found = result(of, given);
            if (!of.equals("bucket") && !of.equals("years")) return found;
            return String.format("%010d", Long.parseLong(found));
        }
        boolean decimal = type instanceof DecimalType;
        BigInteger all = decimal
            ? decimal(given).unscaledValue() : BigInteger.valueOf(whole(given));
        BigInteger size = BigInteger.valueOf(width);
        BigInteger found = all.subtract(all.mod(size)).divide(size);
        return String.format("%040d", found.add(BigInteger.ONE.shiftLeft(128)));
    }

    private String result(String kind, InternalRow given) {
        if (kind.equals("bucket")) return String.valueOf((hash(given) & Integer.MAX_VALUE) % width);
        if (!kind.equals("truncate")) return time(kind, given);
        if (type instanceof StringType) return "~" + given.getUTF8String(0).substring(0, width);
        if (!(type instanceof DecimalType)) return String.valueOf(cut(whole(given)));
        BigDecimal value = decimal(given);
        BigInteger all = value.unscaledValue();
        BigInteger rest = all.mod(BigInteger.valueOf(width));
        return new BigDecimal(all.subtract(rest), value.scale()).toPlainString();
    }

    /** The next lower multiple of the width. */
    private long cut(long value) {
        long rest = Math.floorMod(value, (long) width);
        if (value < Long.MIN_VALUE + rest) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "a partition column has the value " + value + ", near the least one of 64 bits, "
                    + "which " + said() + " cannot take: leave that row out, or divide the table "
                    + "otherwise");
        }
        return value - rest;
    }

    private String time(String kind, InternalRow given) {
        boolean days = type instanceof DateType;
        long micros = days ? 0L : given.getLong(0);
        long day = days ? (long) given.getInt(0) : Math.floorDiv(micros, DAY);
        LocalDate date = LocalDate.ofEpochDay(day);
        if (date.getYear() < 1 || date.getYear() > 9999) {
            throw new Refused(
                "LEDGER_UNSUPPORTED",
                "a partition column has a value of the year " + date.getYear() + ", and " + said()
                    + " takes the years 1 to 9999: leave that row out, or divide the table "
                    + "otherwise");
        }
        if (kind.equals("years")) return String.valueOf(date.getYear());
        if (kind.equals("months")) return date.toString().substring(0, 7);
        if (kind.equals("days")) return date.toString();
        long hour = Math.floorMod(micros, DAY) / HOUR;
        return date.toString() + (hour < 10 ? "-0" : "-") + hour;
    }

    /** The hash of Iceberg: of 64 bits, or of bytes; a day has its number as 64 bits. */
    private int hash(InternalRow given) {
        if (type instanceof StringType) return hash(given.getUTF8String(0).getBytes());
        if (type instanceof DecimalType) {
            return hash(decimal(given).unscaledValue().toByteArray());
        }
        return Murmur3_x86_32.hashLong(whole(given), 0);
    }

    private static int hash(byte[] bytes) {
        return Murmur3_x86_32.hashUnsafeBytes2(
            bytes, (long) Platform.BYTE_ARRAY_OFFSET, bytes.length, 0);
    }

    private BigDecimal decimal(InternalRow given) {
        DecimalType of = (DecimalType) type;
        Decimal found = given.getDecimal(0, of.precision(), of.scale());
        return found.toJavaBigDecimal().setScale(of.scale());
    }

    /** A number, the number of a day, or that of a microsecond. */
    private long whole(InternalRow given) {
        if (type instanceof ByteType) return (long) given.getByte(0);
        if (type instanceof ShortType) return (long) given.getShort(0);
        if (type instanceof IntegerType || type instanceof DateType) return (long) given.getInt(0);
        boolean isLong = type instanceof LongType;
        if (isLong || type instanceof TimestampType || type instanceof TimestampNTZType) {
            return given.getLong(0);
        }
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            said() + " must be of another column, got one of type " + type.sql());
    }
}
