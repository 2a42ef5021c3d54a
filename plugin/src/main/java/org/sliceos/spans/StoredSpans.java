package org.sliceos.spans;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.LeafReader;

/** The best spans of the passages of one segment, from the doc values of the field tokens. */
final class StoredSpans {

    private static final String FIELD = "tokens";

    private final BinaryDocValues tokens;
    private final SpanQuery query;
    private SpanFinder finder;
    private boolean found;

    StoredSpans(LeafReader segment, SpanQuery query) throws IOException {
        tokens = DocValues.getBinary(segment, FIELD);
        this.query = query;
    }

    /** Go on to a later document, numbered as in the segment. */
    void moveTo(int document) {
        try {
            found = tokens.advanceExact(document);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The document's best span; null if it has none, or no token vectors. */
    Span best() {
        if (!found) {
            return null;
        }
        try {
            PackedPassage passage = PackedPassage.of(tokens.binaryValue());
            if (passage == null) {
                return null;
            }
            if (finder == null || finder.dimension() != passage.dimension) {
                finder = new SpanFinder(query, passage.dimension);
            }
            return finder.best(passage);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
