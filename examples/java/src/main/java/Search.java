import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Sends the requests that {@code slice-os index query} printed, and prints the hits as lines of JSON.
 *
 * <p>Standard input: what {@code slice-os index query} printed. Argument: the server's address.
 */
public final class Search {

    /** Per phrase: by vector, by BM25, and by the phrase with some slop. */
    private static final int SEARCHES = 3;

    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient client = HttpClient.newHttpClient();
    private final String server;

    private Search(String server) {
        this.server = server;
    }

    /** A span that paraphrases a phrase; offsets are code points of the document. */
    record Hit(
            String phrase,
            String doc_id,
            int start,
            int end,
            String text,
            double cosine,
            double bm25,
            double score) {

        static Hit of(JsonNode found, String phrase) {
            JsonNode passage = found.get("_source");
            JsonNode span = found.get("fields").get("span");
            int first = passage.get("start").asInt();
            int start = span.get(1).asInt();
            int end = span.get(2).asInt();
            // Offsets count code points; substring() alone would count UTF-16 units.
            String text = passage.get("text").asText();
            int from = text.offsetByCodePoints(0, start);
            int to = text.offsetByCodePoints(from, end - start);
            return new Hit(
                    phrase,
                    passage.get("doc_id").asText(),
                    first + start,
                    first + end,
                    text.substring(from, to),
                    span.get(0).asDouble(),
                    found.path("matched_queries").path("0").asDouble(0),
                    found.get("sort").get(0).asDouble() - 1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode query = JSON.readTree(System.in);
        if (query.get("scored").isNull()) {
            throw new IllegalArgumentException("the server does not score; see docs/another-language.md");
        }
        PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (Hit hit : new Search(arguments[0]).hits(query)) {
            output.println(JSON.writeValueAsString(hit));
        }
    }

    private List<Hit> hits(JsonNode query) throws Exception {
        JsonNode candidates = query.get("candidates");
        JsonNode scored = query.get("scored");
        StringBuilder lines = new StringBuilder();
        candidates.get("lines").forEach(line -> lines.append(line).append('\n'));
        JsonNode responses = post(candidates.get("path"), lines.toString()).get("responses");
        // A passage counts with the phrase that scores best in it.
        Map<String, Hit> best = new HashMap<>();
        for (int row = 0; row < scored.get("bodies").size(); row++) {
            Set<String> ids = new LinkedHashSet<>();
            for (int search = 0; search < SEARCHES; search++) {
                for (JsonNode found : responses.get(SEARCHES * row + search).at("/hits/hits")) {
                    ids.add(passageId(found.get("fields")));
                }
            }
            double highestBm25 = responses.get(SEARCHES * row + 1).at("/hits/max_score").asDouble(0);
            double weight = highestBm25 > 0 ? scored.get("bm25_weight").asDouble() / highestBm25 : 0;
            JsonNode body = scored.get("bodies").get(row);
            put(body, scored.at("/fill/ids"), ids);
            put(body, scored.at("/fill/bm25_weight"), weight);
            String phrase = query.get("phrases").get(row).asText();
            for (JsonNode found : post(scored.get("path"), body.toString()).at("/hits/hits")) {
                best.merge(
                        found.get("_id").asText(),
                        Hit.of(found, phrase),
                        (one, other) -> one.score() >= other.score() ? one : other);
            }
        }
        return best.values().stream()
                .sorted(Comparator.comparingDouble(Hit::score).reversed())
                .limit(scored.at("/bodies/0/size").asInt())
                .toList();
    }

    private JsonNode post(JsonNode path, String body) throws IOException, InterruptedException {
        URI uri = URI.create(server + path.asText());
        HttpRequest request =
                HttpRequest.newBuilder(uri)
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofString(body))
                        .build();
        JsonNode answer = JSON.readTree(client.send(request, BodyHandlers.ofString()).body());
        check(answer);
        answer.path("responses").forEach(Search::check);
        return answer;
    }

    private static void check(JsonNode answer) {
        if (answer.has("error")) {
            throw new IllegalStateException("OpenSearch says " + answer.get("error"));
        }
    }

    /** Computed here, since the server takes longer to look up ids than to search. */
    private static String passageId(JsonNode fields) throws NoSuchAlgorithmException {
        byte[] document = fields.at("/doc_id/0").asText().getBytes(StandardCharsets.UTF_8);
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(document);
        return HexFormat.of().formatHex(digest, 0, 16) + "-" + fields.at("/ordinal/0").asText();
    }

    private static void put(JsonNode body, JsonNode pointer, Object value) {
        JsonPointer place = JsonPointer.compile(pointer.asText());
        ObjectNode inner = (ObjectNode) body.at(place.head());
        inner.set(place.last().getMatchingProperty(), JSON.valueToTree(value));
    }
}
