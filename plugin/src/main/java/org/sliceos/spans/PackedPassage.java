package org.sliceos.spans;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.lucene.util.BytesRef;

/**
 * A passage's words and token vectors as slice-os packs them, version 2. It reads from the stored
 * bytes and copies nothing.
 *
 * <p>Little-endian: an 18-byte header; a table of four numbers a word (first code point, one past
 * the last, first token vector, one past the last); a uint16 norm for each span, a row a word and a
 * column a length; a float32 scale for each token vector; the token vectors in int8.
 */
final class PackedPassage {

    private static final VarHandle SHORT = view(short[].class);
    private static final VarHandle INT = view(int[].class);
    private static final VarHandle FLOAT = view(float[].class);
    private static final int VERSION = 2;
    private static final int BITS = 8;
    private static final int HEADER_BYTES = 18;

    final int words;
    final int pieces;
    final int longest;
    final int dimension;
    final float normStep;

    private final byte[] bytes;
    private final int width;
    private final int table;
    private final int norms;
    private final int scales;
    private final int vectors;

    private PackedPassage(byte[] bytes, int at, int end) {
        if (end - at < HEADER_BYTES) {
            throw cut();
        }
        if (bytes[at] != VERSION || bytes[at + 3] != BITS) {
            throw new IllegalArgumentException("token vectors of version " + bytes[at] + " with " + bytes[at + 3]
                    + " bits; this plugin reads version " + VERSION + " with " + BITS + " bits");
        }
        this.bytes = bytes;
        width = bytes[at + 1];
        longest = bytes[at + 2] & 0xff;
        dimension = uint16(at + 4);
        words = (int) INT.get(bytes, at + 6);
        pieces = (int) INT.get(bytes, at + 10);
        normStep = (float) FLOAT.get(bytes, at + 14);
        long size = HEADER_BYTES + (4L * width + 2L * longest) * words + (4L + dimension) * pieces;
        if ((width != 2 && width != 4) || words < 0 || pieces < 0 || size != end - at) {
            throw cut();
        }
        table = at + HEADER_BYTES;
        norms = table + 4 * width * words;
        scales = norms + 2 * longest * words;
        vectors = scales + 4 * pieces;
    }

    /**
     * The passage in a binary doc value, which begins with two numbers: how many values there are,
     * and the length of the first.
     *
     * @return null if there is no value
     * @throws IllegalArgumentException if the bytes are not a passage of this version
     */
    static PackedPassage of(BytesRef value) {
        int at = value.offset;
        int end = value.offset + value.length;
        if (at == end || value.bytes[at] == 0) {
            return null;
        }
        for (int numbers = 2; numbers > 0; at++) {
            if (at == end) {
                throw cut();
            }
            // The highest bit of a byte says that the number goes on.
            numbers -= value.bytes[at] >= 0 ? 1 : 0;
        }
        return new PackedPassage(value.bytes, at, end);
    }

    int start(int word) {
        return entry(word, 0);
    }

    int end(int word) {
        return entry(word, 1);
    }

    int firstPiece(int word) {
        return checked(entry(word, 2));
    }

    /** One past the last piece. */
    int lastPiece(int word) {
        return checked(entry(word, 3));
    }

    /** The length of the sum of a span's vectors over its number of words, in norm steps. */
    int norm(int first, int count) {
        return uint16(norms + 2 * (longest * first + count - 1));
    }

    float scale(int piece) {
        return (float) FLOAT.get(bytes, scales + 4 * piece);
    }

    void copyVector(int piece, byte[] vector) {
        System.arraycopy(bytes, vectors + dimension * piece, vector, 0, dimension);
    }

    private int entry(int word, int column) {
        int at = table + width * (4 * word + column);
        return width == 2 ? uint16(at) : (int) INT.get(bytes, at);
    }

    private int checked(int piece) {
        if (piece < 0 || piece > pieces) {
            throw new IllegalArgumentException("the token vectors are corrupt: piece " + piece + " of " + pieces);
        }
        return piece;
    }

    private int uint16(int at) {
        return (short) SHORT.get(bytes, at) & 0xffff;
    }

    private static IllegalArgumentException cut() {
        return new IllegalArgumentException("the token vectors are cut");
    }

    private static VarHandle view(Class<?> numbers) {
        return MethodHandles.byteArrayViewVarHandle(numbers, ByteOrder.LITTLE_ENDIAN);
    }
}
