/** Answers to hits: what people accept and reject for a topic, kept by the service. */

import { ask } from "./service.js";
import { around } from "./text.js";
import { keyOf, spanOf } from "./scores.js";

const PAGE = 1000;
const NAME = "slice-os-reader";

/** The name of who answers, kept in this browser; empty for nobody in particular. */
export function readerName() {
  return localStorage.getItem(NAME) ?? "";
}

export function keepReaderName(name) {
  localStorage.setItem(NAME, name.trim());
}

/**
 * A reader with a name sees only own answers; without one, those of all.
 *
 * @param {() => string} store the name of the store that hits are from
 */
export function labelBook(store) {
  /** @type {Map<string, boolean>} */
  let given = new Map();
  /** @type {import("./scores.js").Hit[]} */
  let history = [];
  let topic = "";

  async function load() {
    const name = topic;
    const found = name ? await allLabels(name, readerName()) : [];
    if (topic === name) given = new Map(found.map((label) => [keyOf(label), label.label]));
  }

  /** Take the last answer to a hit back; one before it counts again. */
  async function takeBack(hit) {
    const { label, passage, ...key } = labelOf(topic, hit, true);
    await ask("labels", { method: "DELETE", body: key });
    await load();
  }

  return {
    /** Begin with the answers of a topic; none for an empty name. */
    async open(name) {
      topic = name;
      given = new Map();
      history = [];
      await load();
    },
    answerOf: (hit) => given.get(keyOf(hit)),
    /** How many places are accepted. */
    accepted: () => [...given.values()].filter(Boolean).length,
    /** Answer a hit; the same answer again takes it back. Rejects if the service did not keep it. */
    async give(hit, right) {
      if (given.get(keyOf(hit)) === right) {
        await takeBack(hit);
        history = history.filter((one) => one !== hit);
        return;
      }
      await ask("labels", { body: { store: store(), labels: [labelOf(topic, hit, right)] } });
      given.set(keyOf(hit), right);
      history.push(hit);
    },
    /** Take the last answer back; the hit it was about, or null if there is none. */
    async undo() {
      const hit = history.at(-1);
      if (!hit) return null;
      await takeBack(hit);
      history.pop();
      return hit;
    },
  };
}

/** All labels of a topic that hold, or those of a reader. */
export async function allLabels(topic, reader = "") {
  const found = [];
  let after = 0;
  for (;;) {
    const query = new URLSearchParams({ topic, after: String(after), limit: String(PAGE), ...(reader && { reader }) });
    const { labels, next } = await ask(`labels?${query}`);
    found.push(...labels);
    if (next === null) return found;
    after = next;
  }
}

function labelOf(topic, hit, right) {
  const { start, end } = spanOf(hit);
  const [, text] = around(hit.passage, { start, end });
  return { topic, doc_id: hit.doc_id, start, end, text, label: right, passage: hit.passage, reader: readerName() };
}
