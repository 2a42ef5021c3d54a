package org.sliceos.spans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SpanFinderTest {

    private static final int DIMENSION = TestPassage.DIMENSION;

    private final Random random = new Random(1);

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "1, 200, 1", "2, 3, 1", "150, 3, 1", "1024, 1, 1", "40, 2, 1600", "40, 2, 9000"})
    void findsWhatEverySpanComputedAloneGives(int words, int pieces, int gap) {
        for (int repeat = 0; repeat < 5; repeat++) {
            TestPassage passage = TestPassage.random(random, words, pieces, gap);
            float[] phrase = phrase();
            assertSame(passage.best(phrase, 1, 20), find(passage, 1, 20, phrase));
            assertSame(passage.best(phrase, 2, 5), find(passage, 2, 5, phrase));
        }
    }

    @Test
    void oneFinderServesPassagesOfAnyLength() {
        float[] phrase = phrase();
        SpanFinder finder = new SpanFinder(query(1, 20, phrase), DIMENSION);
        for (int words : new int[] {1, 300, 5, 301, 0, 2}) {
            TestPassage passage = TestPassage.random(random, words, 2, 1);
            assertSame(passage.best(phrase, 1, 20), finder.best(PackedPassage.of(passage.pack())));
        }
    }

    @Test
    void theBestPhraseCounts() {
        TestPassage passage = TestPassage.random(random, 50, 2, 1);
        float[][] phrases = {phrase(), phrase(), phrase(), phrase()};
        Span wanted = null;
        for (float[] phrase : phrases) {
            Span best = passage.best(phrase, 1, 20);
            wanted = wanted == null || best.cosine() > wanted.cosine() ? best : wanted;
        }
        assertSame(wanted, find(passage, 1, 20, phrases));
    }

    @Test
    void zeroVectorsHaveTheCosineZeroAndTheFirstSpanWins() {
        TestPassage passage = TestPassage.random(random, 4, 2, 1);
        for (byte[] vector : passage.vectors()) {
            Arrays.fill(vector, (byte) 0);
        }
        assertEquals(new Span(0, 0, passage.words()[0][1], 1), find(passage, 1, 20, phrase()));
    }

    @Test
    void nothingIsFoundWithoutASpanOfTheLengthOrAPhrase() {
        TestPassage passage = TestPassage.random(random, 5, 2, 1);
        float[] phrase = phrase();
        assertNull(find(passage, 6, 20, phrase));
        assertNull(find(passage, 3, 2, phrase));
        assertNull(find(passage, 1, 20));
    }

    @Test
    void spansAreNoLongerThanTheStoredNorms() {
        TestPassage passage = TestPassage.random(random, 60, 1, 1);
        float[] phrase = phrase();
        assertSame(passage.best(phrase, 15, TestPassage.LONGEST), find(passage, 15, 40, phrase));
    }

    @Test
    void anotherDimensionIsRefused() {
        TestPassage passage = TestPassage.random(random, 3, 1, 1);
        Exception error = assertThrows(
                IllegalArgumentException.class, () -> find(passage, 1, 20, new float[] {1, 0}));
        assertEquals("the phrase has 2 dimensions, the token vectors 37", error.getMessage());
    }

    private float[] phrase() {
        float[] phrase = new float[DIMENSION];
        double squares = 0;
        for (int d = 0; d < DIMENSION; d++) {
            phrase[d] = (float) random.nextGaussian();
            squares += phrase[d] * phrase[d];
        }
        for (int d = 0; d < DIMENSION; d++) {
            phrase[d] /= (float) Math.sqrt(squares);
        }
        return phrase;
    }

    private static Span find(TestPassage passage, int least, int most, float[]... phrases) {
        SpanQuery query = query(least, most, phrases);
        return new SpanFinder(query, DIMENSION).best(PackedPassage.of(passage.pack()));
    }

    private static SpanQuery query(int least, int most, float[]... phrases) {
        List<List<Float>> vectors = new ArrayList<>();
        for (float[] phrase : phrases) {
            List<Float> vector = new ArrayList<>();
            for (float number : phrase) {
                vector.add(number);
            }
            vectors.add(vector);
        }
        return SpanQuery.of(
                Map.of("vectors", vectors, "min_words", least, "max_words", most));
    }

    private static void assertSame(Span wanted, Span found) {
        if (wanted == null) {
            assertNull(found);
            return;
        }
        assertNotNull(found);
        assertEquals(wanted.cosine(), found.cosine(), 1e-4);
        assertEquals(new Span(0, wanted.start(), wanted.end(), wanted.words()),
                new Span(0, found.start(), found.end(), found.words()));
    }
}
