package lakeledger;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SessionState;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * What the ledger adds to sessions: the parser of its words, and the option mergeSchema.
 *
 * `spark.sql.extensions` may name this class. `attach` installs it in a session that is there.
 */
public class LedgerExtensions extends AbstractFunction1 {
    private static final Set KNOWN =
        Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap()));

    public Object apply(Object given) {
        if (KNOWN.add(given)) {
            ((SparkSessionExtensions) given).injectParser(new Parsers());
            ((SparkSessionExtensions) given).injectHintResolutionRule(new Rules());
        }
        return BoxedUnit.UNIT;
    }

    static class Parsers extends AbstractFunction2 {
        public Object apply(Object session, Object below) {
            return new LedgerParser((SparkSession) session, (ParserInterface) below);
        }
    }

    static class Rules extends AbstractFunction1 {
        public Object apply(Object session) {
            return new MergedSchema();
        }
    }

    /** Adds it to a session, and to those that are made from it by newSession or a stream. */
    public static void install(org.apache.spark.sql.SparkSession given) throws Exception {
        SparkSession session = (SparkSession) given;
        new LedgerExtensions().apply(session.extensions());
        SessionState state = session.sessionState();
        if (!(state.sqlParser() instanceof LedgerParser)) {
            set(state, "sqlParser", new LedgerParser(session, state.sqlParser()));
        }
        List rules = Scala.list((Seq) get(state.analyzer(), "hintResolutionRules"));
        for (int i = 0; i < rules.size(); i++) if (rules.get(i) instanceof MergedSchema) return;
        List more = new ArrayList(rules);
        more.add(new MergedSchema());
        set(state.analyzer(), "hintResolutionRules", Scala.seq(more));
    }

    // Spark fixes both when it makes a session, and has no way to add one later.

    private static Field field(Object owner, String name) throws Exception {
        for (Class at = owner.getClass(); at != null; at = at.getSuperclass()) {
            Field[] all = at.getDeclaredFields();
            for (int i = 0; i < all.length; i++) {
                if (!all[i].getName().equals(name)) continue;
                all[i].setAccessible(true);
                return all[i];
            }
        }
        throw new NoSuchFieldException(owner.getClass().getName() + "." + name);
    }

    private static Object get(Object owner, String name) throws Exception {
        return field(owner, name).get(owner);
    }

    private static void set(Object owner, String name, Object value) throws Exception {
        field(owner, name).set(owner, value);
    }
}
