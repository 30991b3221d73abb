package lakeledger;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The JSON of questions and answers.
 *
 * Janino compiles these sources: it has no lambdas, and it erases generics, hence the casts. It
 * picks a wrong overload of Jackson's path() and get(int), hence at() and item().
 */
final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static ArrayNode array() {
        return MAPPER.createArrayNode();
    }

    static JsonNode tree(Object value) {
        return (JsonNode) MAPPER.valueToTree(value);
    }

    static JsonNode read(String text) throws IOException {
        return (JsonNode) MAPPER.readTree(text);
    }

    static String text(JsonNode node) throws IOException {
        return MAPPER.writeValueAsString(node);
    }

    static JsonNode at(JsonNode node, String key) {
        return (JsonNode) node.path(key);
    }

    static JsonNode item(JsonNode node, int place) {
        return (JsonNode) node.get(place);
    }

    static String text(JsonNode node, String key) {
        return at(node, key).asText();
    }

    static String[] texts(JsonNode list) {
        String[] found = new String[list.size()];
        for (int i = 0; i < found.length; i++) found[i] = item(list, i).asText();
        return found;
    }

    static Map map(JsonNode node) {
        return node.isObject() ? (Map) MAPPER.convertValue(node, HashMap.class) : new HashMap();
    }
}
