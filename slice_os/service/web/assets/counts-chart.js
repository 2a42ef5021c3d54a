/** How often a topic occurs: bars over days or weeks, or the most frequent places; each opens its hits. */

import { counted, element, isolated } from "./dom.js";
import { perHundred, timeChart } from "./time-chart.js";

const PLACES = 8;
const NOWHERE = "-";
const NO_DATE = "No hit has a date. Documents get one by --date-field or --time-field of ingest.";
const DAYS = { day: 1, week: 7 };

/**
 * @param {{key: string, hits: number, documents: number, of: number | null}[]} counts
 * @param {string} by "day", "week", "document" or the name of a field
 * @param {(where: Object<string, any>) => void} open shows the hits there
 * @returns {HTMLElement}
 */
export function countsChart(counts, by, open) {
  const days = DAYS[by];
  const placed = counts.filter(({ key }) => key && key !== NOWHERE);
  const elsewhere = counts.filter(({ key }) => !key || key === NOWHERE)
    .reduce((sum, { documents }) => sum + documents, 0);
  if (!placed.length) return element("p", { class: "soft" }, days && elsewhere ? NO_DATE : "No hits.");
  const without = elsewhere
    ? element("p", { class: "soft" }, `${counted(elsewhere)} more without a ${days ? "date" : by}`)
    : null;
  const chart = days
    ? timeChart(placed.map(({ key, documents, of }) => ({ from: key, number: documents, of })), days, (time) => open({ date: time }))
    : places(placed, (key) => open({ [by === "document" ? "_id" : by]: key }));
  return element("div", { class: "chart" }, chart, without);
}

function places(counts, open) {
  const best = counts.toSorted((one, other) => other.documents - one.documents || other.hits - one.hits).slice(0, PLACES);
  const most = best[0].documents;
  return element("ol", { class: "ranking" }, ...best.map(({ key, documents, of }) => {
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", String(documents / most));
    return element(
      "li", {},
      element("button", { class: "link name", type: "button", click: () => open(key) }, isolated(key)),
      bar,
      element("b", {}, counted(documents)),
      of ? element("span", { class: "soft" }, `${perHundred(documents, of)} per 100`) : null,
    );
  }));
}
