package org.sliceos.spans;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.apache.lucene.util.BytesRef;

/**
 * A passage of words of random lengths, packed as slice-os does, and the best span computed plainly.
 *
 * @param words four numbers a word: start, end, first piece, one past the last
 * @param vectors int8, a row a piece
 * @param scales one a piece
 */
record TestPassage(int[][] words, byte[][] vectors, float[] scales) {

    static final int DIMENSION = 37;
    static final int LONGEST = 20;

    /** Words of up to so many pieces each, that many code points apart. */
    static TestPassage random(Random random, int words, int pieces, int gap) {
        int[][] table = new int[words][];
        int piece = 0;
        int at = 0;
        for (int word = 0; word < words; word++) {
            int last = piece + 1 + random.nextInt(pieces);
            int end = at + 1 + random.nextInt(9);
            table[word] = new int[] {at, end, piece, last};
            piece = last;
            at = end + gap;
        }
        byte[][] vectors = new byte[piece][DIMENSION];
        float[] scales = new float[piece];
        for (int row = 0; row < piece; row++) {
            random.nextBytes(vectors[row]);
            scales[row] = 0.001f + random.nextFloat() / 100;
        }
        return new TestPassage(table, vectors, scales);
    }

    /** The sum of a span's vectors over its number of words. */
    double[] mean(int first, int count) {
        double[] mean = new double[DIMENSION];
        for (int piece = words[first][2]; piece < words[first + count - 1][3]; piece++) {
            for (int d = 0; d < DIMENSION; d++) {
                mean[d] += (double) scales[piece] * vectors[piece][d] / count;
            }
        }
        return mean;
    }

    /** The first of the best spans, all of them computed one by one; null if there is none. */
    Span best(float[] phrase, int minWords, int maxWords) {
        Span best = null;
        for (int first = 0; first < words.length; first++) {
            for (int count = minWords; count <= Math.min(maxWords, words.length - first); count++) {
                double[] mean = mean(first, count);
                double length = length(mean);
                double product = 0;
                for (int d = 0; d < DIMENSION; d++) {
                    product += phrase[d] * mean[d];
                }
                double cosine = length == 0 ? 0 : product / length;
                if (best == null || cosine > best.cosine()) {
                    best = new Span(cosine, words[first][0], words[first + count - 1][1], count);
                }
            }
        }
        return best;
    }

    /** As a binary doc value, in the middle of a larger array. */
    BytesRef pack() {
        double largest = 0;
        double[][] lengths = new double[words.length][LONGEST];
        for (int first = 0; first < words.length; first++) {
            for (int count = 1; count <= Math.min(LONGEST, words.length - first); count++) {
                lengths[first][count - 1] = length(mean(first, count));
                largest = Math.max(largest, lengths[first][count - 1]);
            }
        }
        int width = words.length > 0 && words[words.length - 1][1] > 0xffff ? 4 : 2;
        float step = (float) (largest / 0xffff);
        int size = 18
                + (4 * width + 2 * LONGEST) * words.length
                + (4 + DIMENSION) * vectors.length;
        ByteBuffer packed = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
        packed.put((byte) 2).put((byte) width).put((byte) LONGEST).put((byte) 8);
        packed.putShort((short) DIMENSION).putInt(words.length).putInt(vectors.length).putFloat(step);
        for (int[] word : words) {
            for (int number : word) {
                if (width == 2) {
                    packed.putShort((short) number);
                } else {
                    packed.putInt(number);
                }
            }
        }
        for (double[] row : lengths) {
            for (double length : row) {
                packed.putShort((short) (step == 0 ? 0 : Math.round(length / step)));
            }
        }
        for (float scale : scales) {
            packed.putFloat(scale);
        }
        for (byte[] vector : vectors) {
            packed.put(vector);
        }
        return docValue(packed.array());
    }

    /** One value with its count and length, with other bytes around them. */
    static BytesRef docValue(byte[] packed) {
        byte[] bytes = new byte[packed.length + 20];
        int at = 7;
        bytes[at++] = 1;
        int length = packed.length;
        for (; length > 127; length >>>= 7) {
            bytes[at++] = (byte) (length | 0x80);
        }
        bytes[at++] = (byte) length;
        System.arraycopy(packed, 0, bytes, at, packed.length);
        return new BytesRef(bytes, 7, at + packed.length - 7);
    }

    private static double length(double[] vector) {
        double squares = 0;
        for (double number : vector) {
            squares += number * number;
        }
        return Math.sqrt(squares);
    }
}
