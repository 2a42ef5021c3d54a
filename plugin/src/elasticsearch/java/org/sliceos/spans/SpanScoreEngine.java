package org.sliceos.spans;

import java.util.Map;
import java.util.Set;
import org.elasticsearch.script.FieldScript;
import org.elasticsearch.script.ScoreScript;
import org.elasticsearch.script.ScriptContext;
import org.elasticsearch.script.ScriptEngine;

/**
 * The script language {@code slice_os}. It has two scripts: {@code best_span} scores passages,
 * {@code place_span} is for {@code script_fields}.
 */
final class SpanScoreEngine implements ScriptEngine {

    static final String LANGUAGE = "slice_os";
    static final String BEST_SPAN = "best_span";
    static final String PLACE_SPAN = "place_span";

    @Override
    public String getType() {
        return LANGUAGE;
    }

    @Override
    public Set<ScriptContext<?>> getSupportedContexts() {
        return Set.of(ScoreScript.CONTEXT, FieldScript.CONTEXT);
    }

    @Override
    public <T> T compile(String name, String source, ScriptContext<T> context, Map<String, String> options) {
        if (context.equals(ScoreScript.CONTEXT) && source.equals(BEST_SPAN)) {
            ScoreScript.Factory factory = BestSpanScript.Leaves::new;
            return context.factoryClazz.cast(factory);
        }
        if (context.equals(FieldScript.CONTEXT) && source.equals(PLACE_SPAN)) {
            FieldScript.Factory factory = PlaceSpanScript::leaves;
            return context.factoryClazz.cast(factory);
        }
        throw new IllegalArgumentException("no " + LANGUAGE + " script [" + source + "] for [" + context.name
                + "]; there are " + BEST_SPAN + " for [score] and " + PLACE_SPAN + " for [field]");
    }
}
