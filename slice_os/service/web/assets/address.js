/**
 * The view as the fragment of the page's address, so that a link reproduces it. A fragment stays
 * in the browser: no log of a server or proxy has the phrases.
 */

/**
 * @typedef {{page: "search" | "topics" | "matches" | "matrix", store: string, phrases: string[], counters: string[],
 *   most: string, unit: string, verify: boolean, collapse: boolean,
 *   where: Object<string, any>, measure: import("./scores.js").Measure, least: number | null,
 *   order: string, topic: string, open: {id: string, start: number, end: number} | null}} View
 */

/** @type {View} */
export const BLANK = {
  page: "search",
  store: "",
  phrases: [],
  counters: [],
  most: "200",
  unit: "span",
  verify: true,
  collapse: true,
  where: {},
  measure: "probability",
  least: null,
  order: "probability",
  topic: "",
  open: null,
};
const PLAIN = ["store", "most", "unit", "measure", "order", "topic"];

/**
 * @param {View} view
 * @returns {string} with the "#"
 */
export function toFragment(view) {
  const fields = new URLSearchParams();
  for (const phrase of view.phrases) fields.append("phrase", phrase);
  for (const phrase of view.counters) fields.append("not", phrase);
  for (const name of PLAIN) if (view[name] !== BLANK[name]) fields.set(name, view[name]);
  if (!view.verify) fields.set("verify", "no");
  if (!view.collapse) fields.set("collapse", "no");
  if (view.least !== null) fields.set("least", String(view.least));
  if (Object.keys(view.where).length) fields.set("where", JSON.stringify(view.where));
  if (view.open) fields.set("open", `${view.open.start}:${view.open.end}:${view.open.id}`);
  const listed = fields.toString();
  return `#${view.page}${listed ? `?${listed}` : ""}`;
}

/**
 * The view of a fragment; what it cannot read is as in a blank view.
 *
 * @param {string} fragment
 * @returns {View}
 */
export function fromFragment(fragment) {
  const [page, listed = ""] = fragment.replace(/^#/, "").split(/\?(.*)/s);
  const fields = new URLSearchParams(listed);
  const view = structuredClone(BLANK);
  if (page === "topics" || page === "matches" || page === "matrix") view.page = page;
  view.phrases = fields.getAll("phrase");
  view.counters = fields.getAll("not");
  for (const name of PLAIN) view[name] = fields.get(name) ?? BLANK[name];
  if (view.measure !== "cosine") view.measure = "probability";
  view.verify = fields.get("verify") !== "no";
  view.collapse = fields.get("collapse") !== "no";
  const least = Number.parseFloat(fields.get("least") ?? "");
  view.least = Number.isFinite(least) ? least : null;
  view.where = parsed(fields.get("where"));
  const open = /^(\d+):(\d+):(.*)$/s.exec(fields.get("open") ?? "");
  if (open) view.open = { start: Number(open[1]), end: Number(open[2]), id: open[3] };
  return view;
}

function parsed(json) {
  try {
    const value = JSON.parse(json ?? "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
