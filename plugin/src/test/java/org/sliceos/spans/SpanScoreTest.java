package org.sliceos.spans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SpanScoreTest {

    private final Map<String, Object> parameters = parameters();

    @ParameterizedTest
    @ValueSource(strings = {"vectors", "min_words", "max_words", "threshold", "cosine_weight", "bm25_weight"})
    void everyParameterIsNeeded(String name) {
        parameters.remove(name);
        assertRefused("the script needs the parameter [" + name + "]");
        parameters.put(name, "1");
        assertRefused("the script needs the parameter [" + name + "]");
    }

    @Test
    void aVectorIsAListOfNumbers() {
        for (Object vector : List.of(1.0, List.of("1"), List.of(List.of(1)))) {
            parameters.put("vectors", List.of(vector));
            assertRefused("each of the [vectors] is a list of numbers");
        }
    }

    @Test
    void weighsCosineAndBm25FromTheThresholdOn() {
        parameters.put("cosine_weight", 0.25);
        parameters.put("bm25_weight", 2);
        SpanScore score = SpanScore.of(parameters);
        assertTrue(score.needsBm25());
        assertEquals(1 + 0.25 * 0.5 + 2 * 3, score.of(new Span(0.5, 0, 4, 1), () -> 3));
        assertEquals(0, score.of(new Span(0.49, 0, 4, 1), () -> 3));
        assertEquals(0, score.of(null, () -> 3));
    }

    /** What a script of the test needs. */
    static Map<String, Object> parameters() {
        return new HashMap<>(Map.of(
                "vectors", List.of(List.of(1.0, 0.0)),
                "min_words", 1,
                "max_words", 20,
                "threshold", 0.5,
                "cosine_weight", 1,
                "bm25_weight", 0));
    }

    private void assertRefused(String reason) {
        Exception error = assertThrows(IllegalArgumentException.class, () -> SpanScore.of(parameters));
        assertTrue(error.getMessage().startsWith(reason), error.getMessage());
    }
}
