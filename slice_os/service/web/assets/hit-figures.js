/** Says how many hits count, of what, and in how many documents, as far as is known. */

import { TOPIC, leastOf } from "./asked.js";
import { byId, counted } from "./dom.js";
import { sampleInWords } from "./estimate-words.js";
import { ask } from "./service.js";
import { topicPath } from "./topic-form.js";

/**
 * Say it of the hits that were found.
 *
 * @param {import("./found-hits.js").FoundHits} found
 * @param {import("./address.js").View} view
 * @param {any} store
 * @param {(hit: any) => boolean | undefined} answerOf
 * @param {ReturnType<import("./headline.js").headline>} says
 */
export function sayHow(found, view, store, answerOf, says) {
  const { count, scope } = found.inAll(view, answerOf);
  byId("count").textContent = counted(count);
  byId("scope").textContent = ` ${count === 1 ? "hit" : "hits"} ${scope}`;
  const answers = found.visible.map(answerOf).filter((answer) => answer !== undefined);
  const right = answers.filter(Boolean).length;
  byId("answered").textContent = answers.length ? `${counted(right)} accepted, ${counted(answers.length - right)} rejected` : "";
  const { where, measure, most } = view;
  const near = measure === "probability" && !Number(most) ? store.least_cosine : null;
  says.show(found.visible, { least: leastOf(view, store), measure, near, complete: found.complete, within: Object.keys(where).length > 0, time: where.date });
}

/** Say what a labelled sample tells of the topic whose hits are shown. */
export async function sayEstimate(current, store) {
  const { most, topic } = current();
  const found = most === TOPIC ? await ask(`${topicPath(topic)}/estimate?${new URLSearchParams({ store: store.name })}`).catch(() => null) : null;
  const place = byId("estimated");
  place.hidden = !found || current().topic !== topic;
  if (found) place.textContent = `At the cut of the topic: ${sampleInWords(found)}.`;
}
