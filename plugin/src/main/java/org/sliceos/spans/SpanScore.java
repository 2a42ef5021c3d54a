package org.sliceos.spans;

import java.util.Map;
import java.util.function.DoubleSupplier;

/**
 * The score of a passage by its best span: {@code 1 + cosine_weight * cosine + bm25_weight * _score},
 * or 0 if it has no span of the wanted lengths, or none whose cosine reaches {@code threshold}.
 *
 * @param spans what is looked for
 * @param threshold the least cosine
 * @param cosineWeight weight of the cosine
 * @param bm25Weight weight of the score that the passage has already
 */
record SpanScore(SpanQuery spans, double threshold, double cosineWeight, double bm25Weight) {

    /**
     * Reads the parameters of a script.
     *
     * @throws IllegalArgumentException if one is missing or of another type
     */
    static SpanScore of(Map<String, Object> parameters) {
        return new SpanScore(
                SpanQuery.of(parameters),
                SpanQuery.number(parameters, "threshold").doubleValue(),
                SpanQuery.number(parameters, "cosine_weight").doubleValue(),
                SpanQuery.number(parameters, "bm25_weight").doubleValue());
    }

    boolean needsBm25() {
        return bm25Weight != 0;
    }

    /** The score of a passage with this best span, which may be null. */
    double of(Span best, DoubleSupplier bm25) {
        if (best == null || best.cosine() < threshold) {
            return 0;
        }
        double score = 1 + cosineWeight * best.cosine();
        return needsBm25() ? score + bm25Weight * bm25.getAsDouble() : score;
    }
}
