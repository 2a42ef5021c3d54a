/** The scores that hits are cut and ordered by: pure functions over hits. */

/**
 * A hit as the service gives it.
 *
 * @typedef {{doc_id: string, start: number, end: number, text: string, cosine: number,
 *   bm25: number | null, score: number, probability: number | null,
 *   band: "probable" | "unsure" | "unlikely" | null, reasons: string[],
 *   matches: [string, string][], phrase: string, topic: string | null, metadata: Object<string, any>,
 *   span: {start: number, end: number} | null, count: number,
 *   passage: {start: number, end: number, text: string}}} Hit
 */

/** @typedef {"cosine" | "probability"} Measure */

export const BINS = 50;
const EDGE = 1e-9;

/** Where a scale begins that has room for these hits and for a threshold: a step of 0.05. */
export function lowest(hits, measure, least) {
  if (measure === "probability") return 0;
  const low = hits.reduce((low, hit) => Math.min(low, hit.cosine), Math.min(least, 0.95));
  return Math.floor(Math.max(-1, low) * 20 + EDGE) / 20;
}

/** Whether a hit reaches a value; one without the score does not. */
export function reaches(hit, measure, least) {
  return (hit[measure] ?? -2) >= least - EDGE;
}

/** How many hits there are in each part of a scale. */
export function bins(hits, measure, from) {
  const found = new Array(BINS).fill(0);
  for (const hit of hits) {
    const value = hit[measure];
    if (value === null || value === undefined) continue;
    const bin = Math.floor(((value - from) / (1 - from)) * BINS);
    found[Math.min(BINS - 1, Math.max(0, bin))] += 1;
  }
  return found;
}

/**
 * What hits must reach where nobody says otherwise, as the service itself cuts.
 *
 * @param {{min_probability: number | null, threshold: number}} store
 * @returns {{measure: Measure, least: number}}
 */
export function usualCut(store) {
  if (typeof store.min_probability === "number") return { measure: "probability", least: store.min_probability };
  return { measure: "cosine", least: store.threshold };
}

/**
 * What the hits of a topic must reach, as the service reads its file; null for the usual cut.
 *
 * @returns {{measure: Measure, least: number} | null}
 */
export function cutOf(topic) {
  const likely = topic.precision ?? topic.min_probability;
  const near = topic.learned?.threshold ?? (typeof likely === "number" ? null : topic.threshold);
  if (typeof near === "number") return { measure: "cosine", least: near };
  return typeof likely === "number" ? { measure: "probability", least: likely } : null;
}

/** Hits in another order; the service's own for "rank". */
export function ordered(hits, order) {
  if (order === "rank") return hits;
  if (order === "unsure") return hits.toSorted((one, other) => doubt(one) - doubt(other));
  if (order === "place") {
    return hits.toSorted((one, other) =>
      one.doc_id === other.doc_id
        ? one.start - other.start
        : one.doc_id < other.doc_id ? -1 : 1);
  }
  return hits.toSorted((one, other) => (other[order] ?? -2) - (one[order] ?? -2));
}

/** How far a hit is from being as likely right as wrong; those without a probability are last. */
function doubt({ probability }) {
  return probability === null ? 1 : Math.abs(probability - 0.5);
}

/** The words that scored, however wide the hit is shown. */
export function spanOf(hit) {
  return hit.span ?? { start: hit.start, end: hit.end };
}

/** What tells a hit from others. */
export function keyOf(hit) {
  const { start, end } = spanOf(hit);
  return `${start}:${end}:${hit.doc_id}`;
}
