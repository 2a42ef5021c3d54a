package org.sliceos.spans;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.lucene.index.LeafReaderContext;
import org.opensearch.script.FieldScript;
import org.opensearch.search.lookup.SearchLookup;

/**
 * Returns a passage's best span as the list of its cosine, start, end and number of words; an empty
 * list if the passage has no span of the wanted lengths.
 */
final class PlaceSpanScript extends FieldScript {

    private final StoredSpans spans;

    private PlaceSpanScript(
            Map<String, Object> parameters, SearchLookup lookup, LeafReaderContext leaf, SpanQuery query)
            throws IOException {
        super(parameters, lookup, leaf);
        spans = new StoredSpans(leaf.reader(), query);
    }

    /** Reads a query's parameters once, and makes the scripts of the segments. */
    static LeafFactory leaves(Map<String, Object> parameters, SearchLookup lookup) {
        SpanQuery query = SpanQuery.of(parameters);
        return leaf -> new PlaceSpanScript(parameters, lookup, leaf, query);
    }

    @Override
    public void setDocument(int document) {
        super.setDocument(document);
        spans.moveTo(document);
    }

    @Override
    public Object execute() {
        Span best = spans.best();
        return best == null ? List.of() : List.of(best.cosine(), best.start(), best.end(), best.words());
    }
}
