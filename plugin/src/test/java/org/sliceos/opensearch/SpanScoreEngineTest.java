package org.sliceos.opensearch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.opensearch.script.FieldScript;
import org.opensearch.script.ScoreScript;
import org.opensearch.script.ScriptContext;
import org.opensearch.script.ScriptEngine;

class SpanScoreEngineTest {

    private final ScriptEngine engine = new SpanScoreEngine();

    @Test
    void hasAScriptForScoresAndOneForFields() {
        assertEquals("slice_os", engine.getType());
        assertNotNull(compile("best_span", ScoreScript.CONTEXT));
        assertNotNull(compile("place_span", FieldScript.CONTEXT));
    }

    @Test
    void otherScriptsAreRefused() {
        assertRefused("no slice_os script [other] for [score]", () -> compile("other", ScoreScript.CONTEXT));
        assertRefused("no slice_os script [best_span] for [field]", () -> compile("best_span", FieldScript.CONTEXT));
    }

    @ParameterizedTest
    @ValueSource(strings = {"vectors", "min_words", "max_words", "threshold", "cosine_weight", "bm25_weight"})
    void everyParameterIsNeeded(String name) {
        Map<String, Object> parameters = parameters();
        parameters.remove(name);
        assertRefused("the script needs the parameter [" + name + "]", () -> leaves(parameters));
        parameters.put(name, "1");
        assertRefused("the script needs the parameter [" + name + "]", () -> leaves(parameters));
    }

    @Test
    void aVectorIsAListOfNumbers() {
        Map<String, Object> parameters = parameters();
        for (Object vector : List.of(1.0, List.of("1"), List.of(List.of(1)))) {
            parameters.put("vectors", List.of(vector));
            assertRefused("each of the [vectors] is a list of numbers", () -> leaves(parameters));
        }
    }

    @Test
    void bm25IsComputedOnlyIfItCounts() {
        Map<String, Object> parameters = parameters();
        assertFalse(leaves(parameters).needs_score());
        parameters.put("bm25_weight", 0.5);
        assertTrue(leaves(parameters).needs_score());
    }

    private ScoreScript.LeafFactory leaves(Map<String, Object> parameters) {
        return compile("best_span", ScoreScript.CONTEXT).newFactory(parameters, null, null);
    }

    private <T> T compile(String source, ScriptContext<T> context) {
        return engine.compile(source, source, context, Map.of());
    }

    private static Map<String, Object> parameters() {
        return new HashMap<>(Map.of(
                "vectors", List.of(List.of(1.0, 0.0)),
                "min_words", 1,
                "max_words", 20,
                "threshold", 0.5,
                "cosine_weight", 1,
                "bm25_weight", 0));
    }

    private static void assertRefused(String reason, Runnable action) {
        Exception error = assertThrows(IllegalArgumentException.class, action::run);
        assertTrue(error.getMessage().startsWith(reason), error.getMessage());
    }
}
