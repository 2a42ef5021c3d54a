/** A small chart of how often a topic occurs: bars over days, or the most frequent places. */

import { drawing, element, isolated, counted } from "./dom.js";

const WIDTH = 320;
const HEIGHT = 64;
const PLACES = 8;
const DAY = 86_400_000;
const NOWHERE = "-";

/**
 * @param {{key: string, hits: number, documents: number}[]} counts
 * @param {string} by "day", "document" or the name of a field
 * @returns {HTMLElement}
 */
export function countsChart(counts, by) {
  const placed = counts.filter(({ key }) => key && key !== NOWHERE);
  const elsewhere = counts.filter(({ key }) => !key || key === NOWHERE)
    .reduce((sum, { hits }) => sum + hits, 0);
  if (!placed.length) {
    const none = by === "day" ? "No hit has a date." : "No hits.";
    return element("p", { class: "soft" }, none);
  }
  const without = elsewhere
    ? element("p", { class: "soft" }, `${counted(elsewhere)} more without a ${by === "day" ? "date" : by}`)
    : null;
  return element("div", { class: "chart" }, by === "day" ? overTime(placed) : places(placed), without);
}

function overTime(counts) {
  const days = counts.map(({ key }) => Date.parse(key) / DAY);
  const first = Math.min(...days);
  const step = WIDTH / (Math.max(...days) - first + 1);
  const most = Math.max(...counts.map(({ hits }) => hits));
  const [from, to] = [counts[0].key, counts.at(-1).key];
  const bars = counts.map(({ key, hits, documents }, index) => {
    const height = Math.max(2, (hits / most) * HEIGHT);
    return drawing(
      "rect",
      { x: (days[index] - first) * step, y: HEIGHT - height, width: Math.max(1, Math.min(step * 0.85, 24)), height },
      drawing("title", {}, `${key}: ${hits} hits in ${documents} documents`),
    );
  });
  return element(
    "figure",
    {},
    drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none", "aria-label": `Hits by day from ${from} to ${to}, at most ${most} a day` }, ...bars),
    element("figcaption", { class: "scale" }, element("span", {}, from), element("span", {}, `most ${counted(most)}`), element("span", {}, to)),
  );
}

function places(counts) {
  const best = counts.toSorted((one, other) => other.hits - one.hits).slice(0, PLACES);
  const most = best[0].hits;
  return element("ol", { class: "ranking" }, ...best.map(({ key, hits }) => {
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", String(hits / most));
    return element("li", {}, element("span", { class: "name" }, isolated(key)), bar, element("b", {}, counted(hits)));
  }));
}
