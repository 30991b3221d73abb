package lakeledger;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Collections of Java as those of Scala, and back. */
final class Scala {
    private Scala() {}

    static scala.collection.immutable.Map map(Map map) {
        return Map$.MODULE$.from(CollectionConverters.asScala(map));
    }

    static Seq seq(List list) {
        return CollectionConverters.asScala(list).toSeq();
    }

    static List list(scala.collection.Iterable items) {
        return new ArrayList(CollectionConverters.asJavaCollection(items));
    }
}
