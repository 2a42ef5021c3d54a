package org.sliceos.spans;

import java.io.IOException;
import java.util.Map;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.IndexSearcher;
import org.opensearch.script.ScoreScript;
import org.opensearch.search.lookup.SearchLookup;

/** Scores a passage by its best span; see {@link SpanScore}. */
final class BestSpanScript extends ScoreScript {

    private final SpanScore wanted;
    private final StoredSpans spans;

    private BestSpanScript(Leaves query, LeafReaderContext leaf) throws IOException {
        super(query.parameters, query.lookup, query.searcher, leaf);
        wanted = query.wanted;
        spans = new StoredSpans(leaf.reader(), wanted.spans());
    }

    @Override
    public void setDocument(int document) {
        super.setDocument(document);
        spans.moveTo(document);
    }

    @Override
    public double execute(ExplanationHolder explanation) {
        return wanted.of(spans.best(), this::get_score);
    }

    /** A query, whose parameters are read once; it makes the scripts of the segments. */
    record Leaves(Map<String, Object> parameters, SearchLookup lookup, IndexSearcher searcher, SpanScore wanted)
            implements LeafFactory {

        Leaves(Map<String, Object> parameters, SearchLookup lookup, IndexSearcher searcher) {
            this(parameters, lookup, searcher, SpanScore.of(parameters));
        }

        @Override
        public boolean needs_score() {
            return wanted.needsBm25();
        }

        @Override
        public ScoreScript newInstance(LeafReaderContext leaf) throws IOException {
            return new BestSpanScript(this, leaf);
        }
    }
}
