package org.sliceos.spans;

import java.util.List;

/**
 * Finds the best span of a passage, among all of the wanted lengths.
 *
 * <p>The product of a phrase with a span's summed vectors is the difference of two running sums over
 * the token vectors; divided by the stored norm of the span, it is the cosine. Not safe for threads:
 * the arrays are used again for the next passage.
 */
final class SpanFinder {

    private final SpanQuery query;
    private final byte[] vector;
    private double[][] sums;
    private double[] ends = new double[0];

    /**
     * A finder for token vectors of one dimension.
     *
     * @throws IllegalArgumentException if the vector of a phrase has another
     */
    SpanFinder(SpanQuery query, int dimension) {
        for (Phrase phrase : query.phrases()) {
            if (phrase.dimension() != dimension) {
                throw new IllegalArgumentException(
                        "the phrase has " + phrase.dimension() + " dimensions, the token vectors " + dimension);
            }
        }
        this.query = query;
        vector = new byte[dimension];
        sums = new double[query.phrases().size()][0];
    }

    int dimension() {
        return vector.length;
    }

    /** The span of the highest cosine with any phrase; null if none has a wanted length. */
    Span best(PackedPassage passage) {
        addUp(passage);
        Span best = null;
        for (double[] running : sums) {
            Span found = best(passage, running);
            if (found != null && (best == null || found.cosine() > best.cosine())) {
                best = found;
            }
        }
        return best;
    }

    /** For each phrase: its products with the first 0, 1, 2, ... token vectors, added up. */
    private void addUp(PackedPassage passage) {
        List<Phrase> phrases = query.phrases();
        if (sums.length > 0 && sums[0].length <= passage.pieces) {
            sums = new double[phrases.size()][passage.pieces + 1];
        }
        for (int piece = 0; piece < passage.pieces; piece++) {
            passage.copyVector(piece, vector);
            float scale = passage.scale(piece);
            for (int phrase = 0; phrase < sums.length; phrase++) {
                double[] running = sums[phrase];
                running[piece + 1] = running[piece] + scale * phrases.get(phrase).dot(vector);
            }
        }
    }

    /** The first of the best spans for one phrase. */
    private Span best(PackedPassage passage, double[] running) {
        int words = passage.words;
        if (ends.length < words) {
            ends = new double[words];
        }
        for (int word = 0; word < words; word++) {
            ends[word] = running[passage.lastPiece(word)];
        }
        int longest = Math.min(query.maxWords(), passage.longest);
        double best = Double.NEGATIVE_INFINITY;
        int bestFirst = 0;
        int bestCount = 0;
        for (int first = 0; first < words; first++) {
            double before = running[passage.firstPiece(first)];
            int most = Math.min(longest, words - first);
            for (int count = query.minWords(); count <= most; count++) {
                double product = ends[first + count - 1] - before;
                if (product <= 0 && best >= 0) {
                    continue;
                }
                // A division for every span would take longer than the products with the token vectors.
                double length = passage.norm(first, count) * (double) passage.normStep * count;
                if (length > 0 && product <= best * length) {
                    continue;
                }
                double cosine = length > 0 ? product / length : 0;
                if (cosine > best) {
                    best = cosine;
                    bestFirst = first;
                    bestCount = count;
                }
            }
        }
        if (bestCount == 0) {
            return null;
        }
        int end = passage.end(bestFirst + bestCount - 1);
        return new Span(Math.clamp(best, -1, 1), passage.start(bestFirst), end, bestCount);
    }
}
