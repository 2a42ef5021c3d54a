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
  /** @type {Map<string, {label: boolean, reader?: string, settled?: boolean}>} */
  let given = new Map();
  /** @type {import("./scores.js").Hit[][]} */
  let history = [];
  let topic = "";

  async function load() {
    const name = topic;
    const found = name ? await allLabels(name, readerName()) : [];
    if (topic === name) given = new Map(found.map((label) => [keyOf(label), label]));
  }

  /** Take the answers to hits back that are shown; those before them count again. */
  async function takeBack(hits) {
    for (const hit of hits) {
      const shown = given.get(keyOf(hit));
      if (!shown) continue;
      const { label, passage, speaker, ...key } = labelOf(topic, hit, true);
      hit.label = null;
      await ask("labels", { method: "DELETE", body: { ...key, reader: shown.reader ?? "", settled: shown.settled ?? false } });
    }
    await load();
  }

  /** What people say of a hit: here, or when the service found it, maybe of some of its words. */
  const answerOf = (hit) => given.get(keyOf(hit))?.label ?? (hit.topic === topic ? hit.label : null) ?? undefined;

  return {
    /** Begin with the answers of a topic; none for an empty name. */
    async open(name) {
      topic = name;
      given = new Map();
      history = [];
      await load();
    },
    answerOf,
    /**
     * Answer hits in the same words; the answer that the first one has takes it back. Rejects if
     * the service did not keep it.
     */
    async give(hits, right) {
      if (answerOf(hits[0]) === right) {
        await takeBack(hits);
        history = history.filter(([first]) => first !== hits[0]);
        return;
      }
      for (let begin = 0; begin < hits.length; begin += PAGE) {
        const labels = hits.slice(begin, begin + PAGE).map((hit) => labelOf(topic, hit, right));
        await ask("labels", { body: { store: store(), labels } });
      }
      for (const hit of hits) given.set(keyOf(hit), { label: right, reader: readerName() });
      history.push(hits);
    },
    /** Take the last answer back; the first hit it was about, or null if there is none. */
    async undo() {
      const hits = history.at(-1);
      if (!hits) return null;
      await takeBack(hits);
      history.pop();
      return hits[0];
    },
  };
}

/** All labels of a topic that hold, or those of a reader. */
async function allLabels(topic, reader = "") {
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
  return { topic, doc_id: hit.doc_id, start, end, text, label: right, passage: hit.passage, reader: readerName(), ...(hit.metadata.speaker && { speaker: String(hit.metadata.speaker) }) };
}
