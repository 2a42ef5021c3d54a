package org.sliceos.spans;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What is looked for in each passage.
 *
 * @param phrases the best span is that of the highest cosine with any of them
 * @param minWords words in the shortest span
 * @param maxWords words in the longest span
 */
record SpanQuery(List<Phrase> phrases, int minWords, int maxWords) {

    /**
     * Reads the parameters of a script.
     *
     * @throws IllegalArgumentException if one is missing or of another type
     */
    static SpanQuery of(Map<String, Object> parameters) {
        List<Phrase> phrases = new ArrayList<>();
        for (Object vector : parameter(parameters, "vectors", List.class)) {
            phrases.add(Phrase.of(vector));
        }
        int minWords = number(parameters, "min_words").intValue();
        int maxWords = number(parameters, "max_words").intValue();
        return new SpanQuery(List.copyOf(phrases), Math.max(1, minWords), maxWords);
    }

    static Number number(Map<String, Object> parameters, String name) {
        return parameter(parameters, name, Number.class);
    }

    private static <T> T parameter(Map<String, Object> parameters, String name, Class<T> type) {
        Object value = parameters.get(name);
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException("the script needs the parameter [" + name + "], a "
                    + type.getSimpleName().toLowerCase(java.util.Locale.ROOT));
        }
        return type.cast(value);
    }
}
