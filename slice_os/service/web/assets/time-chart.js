/** How many, over time: bars that can be chosen. */

import { counted, element } from "./dom.js";

const DAY = 86_400_000;
const MOST_BARS = 60;

/**
 * @param {{from: string, number: number, of: number | null}[]} rows documents that say it, and all
 *   documents, from a day on; days without any may be missing
 * @param {number} days that a row spans
 * @param {(time: {gte: string, lte: string} | null) => void} choose a time; null for the chosen one
 * @param {{gte?: string, lte?: string}} [chosen]
 * @returns {HTMLElement}
 */
export function timeChart(rows, days, choose, chosen = {}) {
  const starts = rows.map(({ from }) => Date.parse(from));
  const start = Math.min(...starts);
  const bars = (Math.max(...starts) - start) / (days * DAY) + 1;
  const step = days * Math.ceil(bars / MOST_BARS);
  const sums = Array.from({ length: Math.ceil((bars * days) / step) }, () => ({ number: 0, of: 0 }));
  rows.forEach(({ number, of }, index) => {
    const sum = sums[Math.floor((starts[index] - start) / (step * DAY))];
    sum.number += number;
    sum.of += of ?? 0;
  });
  const most = Math.max(1, ...sums.map(({ number }) => number));
  const buttons = sums.map(({ number, of }, index) => {
    const from = start + index * step * DAY;
    const time = { gte: iso(from), lte: iso(from + (step - 1) * DAY) };
    const pressed = chosen.gte === time.gte && chosen.lte === time.lte;
    const when = step === 1 ? time.gte : `${time.gte} to ${time.lte}`;
    const label = `${when}: ${counted(number)}${of ? ` of ${counted(of)}, ${perHundred(number, of)} per 100` : ""}`;
    const button = element("button", { type: "button", title: label, "aria-label": label, "aria-pressed": pressed ? "true" : "false", click: () => choose(pressed ? null : time) });
    button.style.setProperty("--share", String(number / most));
    return button;
  });
  const period = { 1: "a day", 7: "a week" }[step] ?? `${step} days`;
  return element(
    "div", { class: "times", "data-period": period },
    element("div", { class: "bars", role: "group", "aria-label": "By time; choose a bar to see its hits" }, ...buttons),
    element("div", { class: "scale" }, element("span", {}, iso(start)), element("span", {}, `most ${counted(most)} in ${period}`), element("span", {}, iso(start + sums.length * step * DAY - DAY))),
  );
}

/** So many of a hundred, with one decimal below ten. */
export function perHundred(number, of) {
  const rate = of ? (100 * number) / of : 0;
  return rate > 0 && rate < 9.95 ? rate.toFixed(1) : String(Math.round(rate));
}

/** The Monday of the week of a date or time in ISO 8601, in UTC; empty for any other value. */
export function weekOf(value) {
  const text = String(value ?? "");
  const zoned = /[T ].*(Z|[+-]\d\d:?\d\d)$/.test(text) || !/[T ]/.test(text);
  const moment = Date.parse(zoned ? text : `${text.replace(" ", "T")}Z`);
  // 1 January 1970 was a Thursday.
  const since = Math.floor(moment / DAY) + 3;
  return Number.isNaN(moment) ? "" : iso((since - (((since % 7) + 7) % 7) - 3) * DAY);
}

function iso(moment) {
  return new Date(moment).toISOString().slice(0, 10);
}
