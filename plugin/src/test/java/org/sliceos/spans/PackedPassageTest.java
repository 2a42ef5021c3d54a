package org.sliceos.spans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.lucene.util.BytesRef;
import org.junit.jupiter.api.Test;

class PackedPassageTest {

    private final Random random = new Random(1);
    private final TestPassage passage = TestPassage.random(random, 6, 2, 1);

    @Test
    void readsWhatWasPacked() {
        PackedPassage packed = PackedPassage.of(passage.pack());
        assertEquals(6, packed.words);
        assertEquals(passage.vectors().length, packed.pieces);
        for (int word = 0; word < 6; word++) {
            int[] wanted = passage.words()[word];
            assertEquals(wanted[0], packed.start(word));
            assertEquals(wanted[1], packed.end(word));
            assertEquals(wanted[2], packed.firstPiece(word));
            assertEquals(wanted[3], packed.lastPiece(word));
        }
        assertEquals(passage.scales()[3], packed.scale(3));
    }

    @Test
    void aDocumentWithoutAValueHasNoPassage() {
        assertNull(PackedPassage.of(new BytesRef()));
        assertNull(PackedPassage.of(new BytesRef(new byte[] {0})));
    }

    @Test
    void anotherVersionIsRefused() {
        BytesRef version = passage.pack();
        version.bytes[headerAt(version)] = 3;
        assertRefused("token vectors of version 3 with 8 bits; this plugin reads version 2 with 8 bits", version);
        BytesRef bits = passage.pack();
        bits.bytes[headerAt(bits) + 3] = 4;
        assertRefused("token vectors of version 2 with 4 bits; this plugin reads version 2 with 8 bits", bits);
    }

    @Test
    void everyCutIsRefused() {
        BytesRef whole = passage.pack();
        for (int length = 1; length < whole.length; length++) {
            assertRefused("the token vectors are cut", new BytesRef(whole.bytes, whole.offset, length));
        }
    }

    @Test
    void sizesThatOverflowAreRefused() {
        for (int width : new int[] {0, -2, 2, 3, 4}) {
            for (int words : new int[] {Integer.MIN_VALUE, -1, 1 << 29, 1 << 30, Integer.MAX_VALUE}) {
                ByteBuffer header = ByteBuffer.allocate(18).order(ByteOrder.LITTLE_ENDIAN);
                header.put((byte) 2).put((byte) width).put((byte) 0).put((byte) 8).putShort((short) 4);
                header.putInt(words).putInt(0).putFloat(1);
                assertRefused("the token vectors are cut", TestPassage.docValue(header.array()));
            }
        }
    }

    @Test
    void changedBytesAreRefusedOrScoredAndNeverReadPastTheEnd() {
        List<Float> phrase = Collections.nCopies(TestPassage.DIMENSION, 0.1f);
        Map<String, Object> parameters =
                Map.of("vectors", List.of(phrase), "min_words", 1, "max_words", 20);
        SpanFinder finder = new SpanFinder(SpanQuery.of(parameters), TestPassage.DIMENSION);
        int refused = 0;
        for (int repeat = 0; repeat < 20_000; repeat++) {
            BytesRef value = passage.pack();
            int header = 18 + 8 * 6;
            value.bytes[headerAt(value) + random.nextInt(header)] = (byte) random.nextInt(256);
            try {
                finder.best(PackedPassage.of(value));
            } catch (IllegalArgumentException error) {
                refused++;
            }
        }
        assertTrue(refused > 1_000, refused + " refused");
    }

    /** Where the header begins, after the count of one byte and the length of two. */
    private static int headerAt(BytesRef value) {
        return value.offset + 3;
    }

    private static void assertRefused(String reason, BytesRef value) {
        Exception error = assertThrows(IllegalArgumentException.class, () -> PackedPassage.of(value));
        assertEquals(reason, error.getMessage());
    }
}
