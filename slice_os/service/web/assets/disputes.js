/** Hits on which readers disagree, to settle one by one. */

import { element, isolated, plural } from "./dom.js";
import { readerName } from "./labels.js";
import { toastError } from "./notices.js";
import { keyOf } from "./scores.js";
import { ask } from "./service.js";
import { around, dense, head, tail } from "./text.js";

const BESIDE = 120;

/**
 * @param {string} topic
 * @param {() => void} settled called after each answer
 * @returns {Promise<HTMLElement[]>}
 */
export async function disputeList(topic, settled) {
  const { hits } = await ask(`disputes?${new URLSearchParams({ topic })}`);
  return [
    element("h3", {}, hits.length ? `Readers disagree on ${plural(hits.length, "hit")}` : "Nothing to settle"),
    element("ul", { class: "plain-list" }, ...hits.map((answers) => dispute(answers, settled))),
  ];
}

function dispute(answers, settled) {
  const [first] = answers;
  const [before, words, after] = first.passage ? around(first.passage, first) : ["", first.text, ""];
  const said = answers.map(({ reader, label }) => element("span", { class: label ? "right" : "wrong" }, isolated(reader), label ? " ✓ " : " ✕ "));
  const end = (right) => async () => {
    // The readers' edges may differ; the answer is about the words of each.
    const places = new Map(answers.map(({ number, date, origin, ...place }) => [keyOf(place), place]));
    const labels = [...places.values()].map((place) => ({ ...place, label: right, reader: readerName(), settled: true }));
    try {
      await ask("labels", { body: { labels } });
      row.replaceChildren(element("mark", {}, words), ` is ${right ? "right" : "wrong"}`);
      settled();
    } catch (error) {
      toastError(error);
    }
  };
  const row = element(
    "li", { dir: "auto" },
    tail(dense(before).trimStart(), BESIDE), element("mark", {}, words), head(dense(after).trimEnd(), BESIDE), " ",
    ...said,
    element("button", { type: "button", click: end(true) }, "Right"),
    element("button", { type: "button", click: end(false) }, "Wrong"),
  );
  return row;
}
