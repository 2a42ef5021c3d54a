/** One hit in its context, with its evidence and the buttons that answer it. */

import { counted, element, isolated } from "./dom.js";
import { around, dense, head, tail } from "./text.js";

const BEFORE = 180;
const AFTER = 220;

/**
 * @param {import("./scores.js").Hit} hit
 * @param {boolean} several whether there is more than one phrase, so that hits name theirs
 * @returns {HTMLElement}
 */
export function hitRow(hit, several) {
  const [before, words, after] = around(hit.passage, hit);
  return element(
    "article",
    { class: "hit", tabindex: -1, "aria-label": words },
    element(
      "div",
      { class: "place" },
      element("button", { class: "link", type: "button", "data-deed": "open", title: "Open the document (o)" }, isolated(hit.doc_id)),
      ...Object.entries(hit.metadata).map(([name, value]) =>
        element("bdi", { class: "field" }, element("span", { class: "soft" }, `${name} `), shown(value))),
    ),
    element(
      "p",
      { class: "passage", dir: "auto" },
      tail(dense(before).trimStart(), BEFORE), element("mark", {}, words), head(dense(after).trimEnd(), AFTER),
    ),
    evidence(hit, several),
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

/** A value of metadata for people; it may be a list. */
export function shown(value) {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function evidence(hit, several) {
  return element(
    "div",
    { class: "evidence" },
    score("cosine", hit.cosine.toFixed(2), hit.cosine),
    hit.probability === null ? null : score("probability", percent(hit.probability), hit.probability),
    hit.band === null ? null : element("span", { class: `band ${hit.band}` }, hit.band),
    hit.bm25 === null ? null : score("BM25", hit.bm25.toFixed(1)),
    hit.count > 1 ? element("span", { class: "chip" }, `${counted(hit.count)} times`) : null,
    several ? element("span", { class: "chip" }, "“", isolated(hit.phrase), "”") : null,
    ...hit.reasons.map((reason) => element("span", { class: "chip doubt" }, isolated(reason))),
    ...hit.matches.map(([asked, said]) => element("span", { class: "field soft" }, isolated(asked), " ↔ ", isolated(said))),
  );
}

function score(name, value, share) {
  const bar = share === undefined ? null : element("span", { class: "bar", "aria-hidden": "true" });
  bar?.style.setProperty("--share", String(Math.min(1, Math.max(0, share))));
  return element("span", { class: "score" }, element("span", { class: "soft" }, `${name} `), bar, element("b", {}, value));
}

function percent(probability) {
  const share = probability * 100;
  return share > 0 && share < 1 ? "< 1 %" : `${Math.round(share)} %`;
}
