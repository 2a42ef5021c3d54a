/** Answers to hits: what people accept and reject for a topic, kept by the service. */

import { ask } from "./service.js";
import { around } from "./text.js";
import { keyOf, spanOf } from "./scores.js";

export function labelBook() {
  /** @type {Map<string, boolean>} */
  let given = new Map();
  /** @type {{topic: string, hit: import("./scores.js").Hit, before: boolean | undefined}[]} */
  let history = [];
  let topic = "";

  return {
    /** Begin with the answers of a topic; none for an empty name. */
    async open(name) {
      topic = name;
      given = new Map();
      history = [];
      if (!name) return;
      const found = await allLabels(name);
      if (topic === name) given = new Map(found.map((label) => [keyOf(label), label.label]));
    },
    answerOf: (hit) => given.get(keyOf(hit)),
    /** Answer a hit; the same answer again takes it back. Rejects if the service did not keep it. */
    async give(hit, right) {
      const before = given.get(keyOf(hit));
      if (before === right) await remove(topic, hit);
      else await ask("labels", { body: { labels: [labelOf(topic, hit, right)] } });
      if (before === right) given.delete(keyOf(hit));
      else given.set(keyOf(hit), right);
      history.push({ topic, hit, before });
    },
    /** Take the last answer back; the hit it was about, or null if there is none. */
    async undo() {
      const last = history.at(-1);
      if (!last) return null;
      if (last.before === undefined) await remove(last.topic, last.hit);
      else await ask("labels", { body: { labels: [labelOf(last.topic, last.hit, last.before)] } });
      history.pop();
      if (last.before === undefined) given.delete(keyOf(last.hit));
      else given.set(keyOf(last.hit), last.before);
      return last.hit;
    },
  };
}

/** All labels of a topic. */
export async function allLabels(topic) {
  const { labels } = await ask(`labels?topic=${encodeURIComponent(topic)}`);
  return labels;
}

function labelOf(topic, hit, right) {
  const { start, end } = spanOf(hit);
  const [, text] = around(hit.passage, { start, end });
  return { topic, doc_id: hit.doc_id, start, end, text, label: right, passage: hit.passage };
}

async function remove(topic, hit) {
  const { label, passage, ...key } = labelOf(topic, hit, true);
  await ask("labels", { method: "DELETE", body: key });
}
