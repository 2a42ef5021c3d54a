package org.sliceos.spans;

/**
 * Consecutive words of a passage.
 *
 * @param cosine the highest with any phrase, in [-1, 1]
 * @param start its first code point, counted from the start of the passage
 * @param end one past its last code point
 * @param words how many they are
 */
record Span(double cosine, int start, int end, int words) {}
