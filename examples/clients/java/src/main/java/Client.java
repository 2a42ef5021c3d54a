import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Searches, mines and highlights. Arguments: the service's address, a phrase. */
public final class Client {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient http = HttpClient.newHttpClient();
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final String service;
    private final String key = System.getenv("SLICE_OS_API_KEY");

    private Client(String service) {
        this.service = service;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        new Client(arguments[0]).run(arguments[1]);
    }

    private void run(String phrase) throws IOException, InterruptedException {
        out.println("search");
        JsonNode found = answer("search", Map.of("phrases", phrase, "top_k", 3));
        found.get("hits").forEach(this::show);

        out.println("mine");
        Map<String, Object> wanted = Map.of("phrases", phrase, "threshold", 0.5);
        mine(wanted);

        out.println("highlights");
        String id = found.at("/hits/0/doc_id").asText();
        // URLEncoder is for forms, where a space is a plus.
        String path = URLEncoder.encode(id, StandardCharsets.UTF_8).replace("+", "%20");
        JsonNode document = answer("documents/" + path + "/highlights", wanted);
        highlight(document.get("text").asText(), document.get("hits"));
    }

    /** Prints each hit as soon as it has arrived. */
    private void mine(Object wanted) throws IOException, InterruptedException {
        try (var lines = new BufferedReader(
                new InputStreamReader(ask("mine", wanted), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonNode told = JSON.readTree(line);
                if (told.has("error")) {
                    throw new IOException(told.at("/error/message").asText());
                } else if (told.has("hit")) {
                    show(told.get("hit"));
                } else if (told.has("summary")) {
                    out.println(told.at("/summary/hits").asInt() + " hits");
                    return;
                }
            }
        }
        throw new IOException("the stream broke off");
    }

    /** Offsets count code points; substring() counts UTF-16 units. */
    private void highlight(String text, JsonNode hits) {
        int shown = 0;
        for (JsonNode hit : hits) {
            int start = text.offsetByCodePoints(0, hit.get("start").asInt());
            int end = text.offsetByCodePoints(0, hit.get("end").asInt());
            out.print(text.substring(shown, start) + "[" + text.substring(start, end) + "]");
            shown = end;
        }
        out.println(text.substring(shown));
    }

    private void show(JsonNode hit) {
        out.printf(
                "%s  %s:%d-%d  %s%n",
                hit.get("cosine").asText(),
                hit.get("doc_id").asText(),
                hit.get("start").asInt(),
                hit.get("end").asInt(),
                hit.get("text").asText());
    }

    private JsonNode answer(String path, Object body) throws IOException, InterruptedException {
        try (InputStream content = ask(path, body)) {
            return JSON.readTree(content);
        }
    }

    /** Sends a request; the caller closes the answer. */
    private InputStream ask(String path, Object body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(service + "/" + path))
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)));
        if (key != null) {
            request.header("Authorization", "Bearer " + key);
        }
        HttpResponse<InputStream> response =
                http.send(request.build(), BodyHandlers.ofInputStream());
        if (response.statusCode() == 200) {
            return response.body();
        }
        try (InputStream content = response.body()) {
            throw new IOException(JSON.readTree(content).at("/error/message").asText());
        }
    }
}
