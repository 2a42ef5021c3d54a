/** Answers to hits: what people accept and reject for a topic, kept by the service. */

import { ask } from "./service.js";
import { around } from "./text.js";
import { keyOf, spanOf } from "./scores.js";

const PAGE = 1000;
const NAME = "slice-os-reader";

let reader = localStorage.getItem(NAME) ?? "";

/**
 * The name of who answers in this window, whatever another window says since; empty for nobody in
 * particular. The next window begins with it.
 */
export function readerName() {
  return reader;
}

export function keepReaderName(name) {
  reader = name.trim();
  localStorage.setItem(NAME, reader);
}

/**
 * A reader with a name sees only own answers; without one, those of all.
 *
 * @param {() => string} store the name of the store that hits are from
 */
export function labelBook(store) {
  /**
   * The answers of one topic, and their order. An answer that is on its way while another topic is
   * chosen stays with its own.
   *
   * @typedef {{topic: string, given: Map<string, {label: boolean, reader?: string, settled?: boolean}>,
   *   history: import("./scores.js").Hit[][]}} Answers
   */
  /** @type {(topic: string) => Answers} */
  const blank = (topic) => ({ topic, given: new Map(), history: [] });
  let opened = blank("");

  /** @param {Answers} own */
  async function load(own) {
    const found = own.topic ? await allLabels(own.topic, readerName()) : [];
    own.given = new Map(found.map((label) => [keyOf(label), label]));
  }

  /** Take the answers to hits back that are shown; those before them count again. */
  async function takeBack(own, hits) {
    for (const hit of hits) {
      const shown = own.given.get(keyOf(hit));
      if (!shown) continue;
      const { label, passage, speaker, ...key } = labelOf(own.topic, hit, true);
      hit.label = null;
      await ask("labels", { method: "DELETE", body: { ...key, reader: shown.reader ?? "", settled: shown.settled ?? false } });
    }
    await load(own);
  }

  /** What people say of a hit: here, or when the service found it, maybe of some of its words. */
  const answerOf = (hit) => opened.given.get(keyOf(hit))?.label ?? (hit.topic === opened.topic ? hit.label : null) ?? undefined;

  return {
    /** Begin with the answers of a topic; none for an empty name. */
    async open(name) {
      opened = blank(name);
      await load(opened);
    },
    answerOf,
    /**
     * Answer hits in the same words; the answer that the first one has takes it back. Rejects if
     * the service did not keep it.
     */
    async give(hits, right) {
      const own = opened;
      if (answerOf(hits[0]) === right) {
        await takeBack(own, hits);
        own.history = own.history.filter(([first]) => first !== hits[0]);
        return;
      }
      for (let begin = 0; begin < hits.length; begin += PAGE) {
        const labels = hits.slice(begin, begin + PAGE).map((hit) => labelOf(own.topic, hit, right));
        await ask("labels", { body: { store: store(), labels } });
      }
      for (const hit of hits) own.given.set(keyOf(hit), { label: right, reader: readerName() });
      own.history.push(hits);
    },
    /** Take the last answer back; the first hit it was about, or null if there is none. */
    async undo() {
      const own = opened;
      const hits = own.history.pop();
      if (!hits) return null;
      try {
        await takeBack(own, hits);
      } catch (error) {
        own.history.push(hits);
        throw error;
      }
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
