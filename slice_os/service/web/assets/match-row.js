/** One match of a rule: its evidence, the time between, and what it lacks. */

import { clock, element, isolated } from "./dom.js";
import { fields, percent } from "./hit-row.js";
import { documents } from "./unit.js";

/**
 * @param {any} match
 * @param {(hit: any) => string} colourOf of the topic of a hit
 * @param {(hit: any) => void} open opens the document at a hit
 * @returns {HTMLElement}
 */
export function matchRow(match, colourOf, open) {
  const first = placeOf(match);
  const several = match.doc_ids.length > 1 ? documents(match.doc_ids.length) : "";
  const said = match.evidence.map((hit, number) => {
    const former = match.evidence[number - 1];
    return element(
      "li", {},
      gap(former, hit),
      several && former?.doc_id !== hit.doc_id ? element("span", { class: "soft" }, isolated(hit.doc_id), " ") : null,
      quoted(hit, colourOf, open),
    );
  });
  const lacking = match.lacks.map(({ topic, finding, nearest }) => element(
    "li", {},
    element("span", { class: "chip doubt" }, finding === "unsure" ? "perhaps no " : "no ", isolated(topic)),
    nearest ? element("span", { class: "soft" }, " nearest: ") : element("span", { class: "soft" }, " nothing comes near"),
    nearest ? quoted(nearest, colourOf, open) : null,
    nearest && nearest.probability !== null ? element("b", {}, ` ${percent(nearest.probability)}`) : null,
  ));
  return element(
    "article", { class: "hit match", "aria-label": match.place },
    element(
      "div", { class: "place" },
      element("button", { class: "link", type: "button", click: () => open(first) }, isolated(match.place)),
      several ? element("span", { class: "soft" }, several) : null,
      ...fields(match.metadata),
    ),
    element("ol", { class: "passage evidence-list" }, ...said, ...lacking),
  );
}

/** Where a match is opened: at its first hit, what comes nearest, or the beginning. */
export function placeOf({ doc_ids: [doc_id], evidence: [first], lacks, turn }) {
  const start = turn ?? 0;
  return first ?? lacks.find(({ nearest }) => nearest)?.nearest ?? { doc_id, start, end: start, span: null };
}

function quoted(hit, colourOf, open) {
  const { speaker, start_time: time } = hit.metadata;
  return element(
    "span", {},
    speaker === undefined ? null : element("span", { class: "soft" }, isolated(String(speaker)), " "),
    typeof time === "number" ? element("time", { class: "soft" }, `${clock(time)} `) : null,
    element("button", { class: "link said", type: "button", dir: "auto", title: hit.topic, click: () => open(hit) }, element("mark", { class: colourOf(hit) }, hit.text)),
  );
}

/** How long after the hit before it a hit comes, if the times are known. */
function gap(former, hit) {
  const [from, to] = [former, hit].map((one) => one?.metadata.start_time);
  if (former?.doc_id !== hit.doc_id || typeof from !== "number" || typeof to !== "number") return null;
  return element("span", { class: "gap-between soft" }, `${clock(to - from)} later`);
}
