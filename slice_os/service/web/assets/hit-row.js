/** One hit in its context, with its evidence and the buttons that answer it. */

import { clock, counted, element, isolated } from "./dom.js";
import { around, dense, head, tail } from "./text.js";

const BEFORE = 180;
const AFTER = 220;

/**
 * @param {import("./scores.js").Hit} hit
 * @param {string} colour class of its phrase; empty if there is only one phrase
 * @returns {HTMLElement}
 */
export function hitRow(hit, colour) {
  const [before, words, after] = around(hit.passage, hit);
  return element(
    "article",
    { class: "hit", tabindex: -1, "aria-label": words },
    element(
      "div",
      { class: "place" },
      element("button", { class: "link", type: "button", "data-deed": "open", title: "Open the document (o)" }, isolated(hit.doc_id)),
      ...fields(hit.metadata),
    ),
    element(
      "p",
      { class: "passage", dir: "auto" },
      tail(dense(before).trimStart(), BEFORE), element("mark", { class: colour }, words), head(dense(after).trimEnd(), AFTER),
    ),
    evidence(hit, colour),
    element(
      "div",
      { class: "answers" },
      element("button", { class: "yes", type: "button", "data-deed": "yes", "aria-pressed": "false", title: "Accept (y)", "aria-label": "Accept" }, "✓"),
      element("button", { class: "no", type: "button", "data-deed": "no", "aria-pressed": "false", title: "Reject (n)", "aria-label": "Reject" }, "✕"),
    ),
  );
}

/** Show what people said of a hit: true, false, or undefined for nothing. */
export function showAnswer(row, right) {
  row.dataset.answer = right === undefined ? "" : right ? "yes" : "no";
  row.querySelector(".yes").setAttribute("aria-pressed", String(right === true));
  row.querySelector(".no").setAttribute("aria-pressed", String(right === false));
}

/** Show how many more hits have the same words; 0 for none. */
export function showSame(row, more) {
  const button = row.querySelector("[data-deed=same]");
  button.hidden = !more;
  const text = `+ ${counted(more)} in the same words`;
  if (button.textContent !== text) button.textContent = text;
}

/** Metadata for people: who says it when, then the other fields. */
export function fields(metadata) {
  const { speaker, start_time: start, end_time: _, ...others } = metadata;
  const time = typeof start === "number" ? element("time", {}, clock(start)) : null;
  const who = speaker === undefined ? null : element("b", {}, isolated(String(speaker)), time ? " " : "");
  return [
    ...(who || time ? [element("span", { class: "field" }, who, time)] : []),
    ...Object.entries(others).map(([name, value]) =>
      element("bdi", { class: "field" }, element("span", { class: "soft" }, `${name} `), Array.isArray(value) ? value.join(", ") : readable(value))),
  ];
}

/** A value; a time in ISO 8601 with a space before its hours. */
function readable(value) {
  return String(value).replace(/^(\d{4}-\d\d-\d\d)T(?=\d\d:\d\d)/, "$1 ");
}

function evidence(hit, colour) {
  const likely = hit.probability !== null;
  const measures = [
    score("cosine", hit.cosine.toFixed(2), hit.cosine),
    hit.bm25 === null ? null : score("BM25", hit.bm25.toFixed(1)),
    ...hit.matches.map(([asked, said]) => element("span", { class: "field soft" }, isolated(asked), " ↔ ", isolated(said))),
  ];
  return element(
    "div",
    { class: "evidence" },
    likely ? score("probability", percent(hit.probability), hit.probability) : null,
    hit.band === null ? null : element("span", { class: `band ${hit.band}` }, hit.band),
    colour ? element("span", { class: `chip phrase ${colour}` }, "“", isolated(hit.phrase), "”") : null,
    ...hit.reasons.map((reason) => element("span", { class: "chip doubt" }, isolated(reason))),
    hit.count > 1 ? element("span", { class: "chip" }, `${counted(hit.count)} times`) : null,
    element("button", { class: "link", type: "button", "data-deed": "same", hidden: true }),
    // Without a probability, the cosine is what there is to go by.
    ...(likely ? [element("details", {}, element("summary", {}, "details"), element("div", { class: "measures" }, ...measures))] : measures),
  );
}

function score(name, value, share) {
  const bar = share === undefined ? null : element("span", { class: "bar", "aria-hidden": "true" });
  bar?.style.setProperty("--share", String(Math.min(1, Math.max(0, share))));
  return element("span", { class: "score" }, element("span", { class: "soft" }, `${name} `), bar, element("b", {}, value));
}

/** A probability, rounded down, so that it never seems to reach a cut above it. */
export function percent(probability) {
  const share = probability * 100 + 1e-7;
  return probability > 0 && share < 1 ? "< 1 %" : `${Math.floor(share)} %`;
}
