package org.sliceos.spans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
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
        assertRefused("no slice_os script [other] for [score]", "other", ScoreScript.CONTEXT);
        assertRefused("no slice_os script [best_span] for [field]", "best_span", FieldScript.CONTEXT);
    }

    @Test
    void bm25IsComputedOnlyIfItCounts() {
        Map<String, Object> parameters = SpanScoreTest.parameters();
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

    private void assertRefused(String reason, String source, ScriptContext<?> context) {
        Exception error = assertThrows(IllegalArgumentException.class, () -> compile(source, context));
        assertTrue(error.getMessage().startsWith(reason), error.getMessage());
    }
}
