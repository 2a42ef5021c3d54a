package org.sliceos.opensearch;

import java.io.IOException;
import java.util.Map;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.IndexSearcher;
import org.opensearch.script.ScoreScript;
import org.opensearch.search.lookup.SearchLookup;

/**
 * Scores a passage by its best span: {@code 1 + cosine_weight * cosine + bm25_weight * _score}, or 0
 * if it has no span of the wanted lengths, or none whose cosine reaches {@code threshold}.
 */
final class BestSpanScript extends ScoreScript {

    private final StoredSpans spans;
    private final double threshold;
    private final double cosineWeight;
    private final double bm25Weight;

    private BestSpanScript(Leaves query, LeafReaderContext leaf) throws IOException {
        super(query.parameters, query.lookup, query.searcher, leaf);
        spans = new StoredSpans(leaf.reader(), query.spans);
        threshold = query.threshold;
        cosineWeight = query.cosineWeight;
        bm25Weight = query.bm25Weight;
    }

    @Override
    public void setDocument(int document) {
        super.setDocument(document);
        spans.moveTo(document);
    }

    @Override
    public double execute(ExplanationHolder explanation) {
        Span best = spans.best();
        if (best == null || best.cosine() < threshold) {
            return 0;
        }
        double score = 1 + cosineWeight * best.cosine();
        return bm25Weight == 0 ? score : score + bm25Weight * get_score();
    }

    /** A query, whose parameters are read once; it makes the scripts of the segments. */
    static final class Leaves implements LeafFactory {

        private final Map<String, Object> parameters;
        private final SearchLookup lookup;
        private final IndexSearcher searcher;
        private final SpanQuery spans;
        private final double threshold;
        private final double cosineWeight;
        private final double bm25Weight;

        Leaves(Map<String, Object> parameters, SearchLookup lookup, IndexSearcher searcher) {
            this.parameters = parameters;
            this.lookup = lookup;
            this.searcher = searcher;
            spans = SpanQuery.of(parameters);
            threshold = SpanQuery.number(parameters, "threshold").doubleValue();
            cosineWeight = SpanQuery.number(parameters, "cosine_weight").doubleValue();
            bm25Weight = SpanQuery.number(parameters, "bm25_weight").doubleValue();
        }

        @Override
        public boolean needs_score() {
            return bm25Weight != 0;
        }

        @Override
        public ScoreScript newInstance(LeafReaderContext leaf) throws IOException {
            return new BestSpanScript(this, leaf);
        }
    }
}
