/** How often a topic occurs: bars over days or weeks, or the most frequent places; each opens its hits. */

import { counted, element, isolated } from "./dom.js";
import { perHundred, timeChart } from "./time-chart.js";

const PLACES = 8;
const PERIODS = 4;
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

/** Documents of the last periods side by side, a row for each value of a field; all of them without one. */
export function countsTable(counts, by, within) {
  const dated = [...new Set(counts.map(({ key }) => key))].filter((key) => key !== NOWHERE).sort();
  const periods = by === "month" || DAYS[by] ? lastPeriods(dated.at(-1), by) : dated.slice(-PERIODS);
  if (!dated.length) return element("p", { class: "soft" }, counts.length ? NO_DATE : "No hits.");
  const number = (value, period) => counts.find((one) => one.within === value && one.key === period)?.documents ?? 0;
  const rows = [...new Set(counts.map((one) => one.within))].sort().map((value) => {
    const own = periods.map((period) => number(value, period));
    const change = own.length > 1 ? own.at(-1) - own.at(-2) : 0;
    return element(
      "tr", {},
      element("th", { scope: "row" }, isolated(value || "all")),
      ...own.map((one) => element("td", {}, counted(one))),
      element("td", {}, `${change > 0 ? "+" : change < 0 ? "−" : "±"}${counted(Math.abs(change))}`),
    );
  });
  const head = [within || "", ...periods, "change"].map((one) => element("th", { scope: "col" }, one));
  return element("div", { class: "side-by-side" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

/** The last periods up to one, also those without a hit. */
function lastPeriods(last, by) {
  const days = DAYS[by] ?? 0;
  const at = new Date(`${last}${days ? "" : "-01"}T00:00Z`);
  return Array.from({ length: last ? PERIODS : 0 }, (_, number) => {
    const back = PERIODS - 1 - number;
    const day = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - (days ? 0 : back), at.getUTCDate() - days * back);
    return new Date(day).toISOString().slice(0, days ? 10 : 7);
  });
}

function places(counts, open) {
  const rest = counts.length - PLACES;
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
  }), rest > 0 ? element("li", { class: "soft" }, `${counted(rest)} more`) : null);
}
