/** What a view asks the service for, where its cut is, and what its hits are of: pure functions. */

import { counted } from "./dom.js";
import { usualCut } from "./scores.js";

/** @typedef {import("./address.js").View} View */

/** Of the choices of what to find: every hit of the chosen topic, as the service counts them. */
export const TOPIC = "topic";

/**
 * @param {View} view
 * @param {string} reader whose answers a topic's hits follow; empty for those of all
 */
export function queryBody({ store, phrases, counters, where, unit, verify, most, topic }, reader = "") {
  return {
    store,
    ...(most === TOPIC ? { topics: [topic], ...(reader && { reader }) } : { phrases, ...(counters.length && { counter_phrases: counters }) }),
    ...(Object.keys(where).length && { where }),
    ...(unit !== "span" && { unit }),
    ...(!verify && { verify }),
  };
}

/** The least value of the view's measure where nobody chose one; `store` is as the service has it. */
export function usualLeast(view, store) {
  const usual = usualCut(store);
  return view.measure === usual.measure ? usual.least : store.threshold;
}

/** What hits must reach: what somebody chose, or the usual. */
export function leastOf(view, store) {
  return view.least ?? usualLeast(view, store);
}

/** What the hits are of: the best passages are never a total. */
export function scopeOf(view, found, complete) {
  if (Number(view.most)) return `of the ${counted(found.length)} best passages`;
  return complete ? "" : `of the first ${counted(found.length)}`;
}

/** Whether a view asks for the same phrases as another one. */
export function samePhrases(one, other) {
  const [mine, theirs] = [one, other].map(({ phrases, counters }) => JSON.stringify([phrases, counters]));
  return mine === theirs;
}
