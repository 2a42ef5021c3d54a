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
// Of so many of the most uncertain hits, those of a kind take turns.
const MOST_COMPARED = 100;

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
  if (order === "unsure") return unsureFirst(hits);
  if (order === "place") {
    return hits.toSorted((one, other) =>
      one.doc_id === other.doc_id
        ? one.start - other.start
        : one.doc_id < other.doc_id ? -1 : 1);
  }
  return hits.toSorted((one, other) => (other[order] ?? -2) - (one[order] ?? -2));
}

/**
 * The most uncertain and most different hits first, as in slice_os/topics/reviewing.py: those in the
 * band "unsure", and then the others; the second of those that share most words waits twice as long.
 */
function unsureFirst(hits) {
  const queue = hits.toSorted((one, other) => doubt(one) - doubt(other));
  const kinds = [];
  const waits = new Map();
  for (const [place, hit] of queue.slice(0, MOST_COMPARED).entries()) {
    const words = new Set(hit.text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu));
    let kind = kinds.find((one) => alike(one.words, words));
    if (!kind) kinds.push(kind = { words, count: 0 });
    kind.count += 1;
    waits.set(hit, (place + 1) * kind.count);
  }
  const wait = (hit) => Math.floor(doubt(hit)) * MOST_COMPARED ** 2 + (waits.get(hit) ?? MOST_COMPARED ** 2);
  return queue.toSorted((one, other) => wait(one) - wait(other));
}

/** Below 1 in the band "unsure", by how far from being as likely right as wrong; the others after it. */
function doubt({ probability, band }) {
  if (probability === null) return 2;
  return (band === "unsure" ? 0 : 1) + Math.abs(probability - 0.5);
}

function alike(some, others) {
  let shared = 0;
  for (const word of some) shared += others.has(word);
  return 2 * shared > Math.max(some.size, others.size);
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
