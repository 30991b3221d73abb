package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Serializable;

/** The numbers of an identity column in one task: ranges that Python takes from the log. */
public class Numbers implements Serializable {
    private static final int FIRST = 100;
    private static final int MOST = 1000000;

    private final String catalog;
    private final String write;
    private final long column;
    private final String name;
    private final boolean takesOwn;
    private int count = FIRST;
    private long left;
    private long following;
    private long step;

    /** `takesOwn` says that rows may bring numbers of their own. */
    public Numbers(String catalog, String write, long column, String name, boolean takesOwn) {
        this.catalog = catalog;
        this.write = write;
        this.column = column;
        this.name = name;
        this.takesOwn = takesOwn;
    }

    /** A copy that has taken no number yet: each task has one. */
    Numbers anew() {
        return new Numbers(catalog, write, column, name, takesOwn);
    }

    void checkOwn() {
        if (takesOwn) return;
        throw new Refused(
            "LEDGER_UNSUPPORTED",
            "column " + name + " is an identity column, whose numbers the ledger gives, and the "
                + "rows have values for it: leave the column out");
    }

    long next() {
        if (left == 0) take();
        long found = following;
        following += step;
        left--;
        return found;
    }

    private void take() {
        ObjectNode asked = Json.object().put("write", write).put("column", column);
        JsonNode found = DriverNumbers.ask(catalog, asked.put("count", count));
        following = Json.at(found, "first").asLong();
        step = Json.at(found, "step").asLong();
        left = count;
        count = Math.min(MOST, count * 2);
    }
}
