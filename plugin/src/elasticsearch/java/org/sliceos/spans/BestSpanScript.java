package org.sliceos.spans;

import java.io.IOException;
import java.util.Map;
import org.apache.lucene.index.LeafReader;
import org.elasticsearch.script.DocReader;
import org.elasticsearch.script.LeafReaderContextSupplier;
import org.elasticsearch.script.ScoreScript;
import org.elasticsearch.search.lookup.SearchLookup;

/** Scores a passage by its best span; see {@link SpanScore}. */
final class BestSpanScript extends ScoreScript {

    private final SpanScore wanted;
    private final StoredSpans spans;

    private BestSpanScript(Leaves query, DocReader leaf) throws IOException {
        super(query.parameters, query.lookup, leaf);
        wanted = query.wanted;
        LeafReader segment = ((LeafReaderContextSupplier) leaf).getLeafReaderContext().reader();
        spans = new StoredSpans(segment, wanted.spans());
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
    record Leaves(Map<String, Object> parameters, SearchLookup lookup, SpanScore wanted) implements LeafFactory {

        Leaves(Map<String, Object> parameters, SearchLookup lookup) {
            this(parameters, lookup, SpanScore.of(parameters));
        }

        @Override
        public boolean needs_score() {
            return wanted.needsBm25();
        }

        @Override
        public boolean needs_termStats() {
            return false;
        }

        @Override
        public ScoreScript newInstance(DocReader leaf) throws IOException {
            return new BestSpanScript(this, leaf);
        }
    }
}
