package org.sliceos.spans;

import java.util.List;
import org.apache.lucene.util.VectorUtil;

/**
 * The vector of a phrase, for products with int8 vectors by Lucene's SIMD kernel.
 *
 * <p>The kernel takes int8 on both sides. The vector is therefore rounded to int8 twice, the second
 * time what the first one lost, and keeps about 16 bits.
 */
final class Phrase {

    private static final int LARGEST = 127;

    private final byte[] coarse;
    private final byte[] fine;
    private final float coarseStep;
    private final float fineStep;

    private Phrase(float[] vector) {
        coarse = new byte[vector.length];
        fine = new byte[vector.length];
        coarseStep = round(vector, coarse);
        fineStep = round(vector, fine);
    }

    /**
     * The phrase whose vector is a list of numbers.
     *
     * @throws IllegalArgumentException if it is anything else
     */
    static Phrase of(Object vector) {
        if (!(vector instanceof List<?> numbers)) {
            throw new IllegalArgumentException("each of the [vectors] is a list of numbers");
        }
        float[] values = new float[numbers.size()];
        for (int d = 0; d < values.length; d++) {
            if (!(numbers.get(d) instanceof Number number)) {
                throw new IllegalArgumentException("each of the [vectors] is a list of numbers");
            }
            values[d] = number.floatValue();
        }
        return new Phrase(values);
    }

    int dimension() {
        return coarse.length;
    }

    /** The dot product with an int8 vector of the same dimension. */
    float dot(byte[] vector) {
        return coarseStep * VectorUtil.dotProduct(coarse, vector) + fineStep * VectorUtil.dotProduct(fine, vector);
    }

    /** Rounds numbers to int8 steps, and leaves in their place what that loses; returns the step. */
    private static float round(float[] numbers, byte[] rounded) {
        float largest = Float.MIN_NORMAL * LARGEST;
        for (float number : numbers) {
            largest = Math.max(largest, Math.abs(number));
        }
        float step = largest / LARGEST;
        for (int d = 0; d < rounded.length; d++) {
            rounded[d] = (byte) Math.round(numbers[d] / step);
            numbers[d] -= rounded[d] * step;
        }
        return step;
    }
}
