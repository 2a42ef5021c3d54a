/** Hits as files: CSV made here, other formats by the service. */

import { element } from "./dom.js";
import { askFile } from "./service.js";

const COLUMNS = [
  "doc_id", "start", "end", "text", "cosine", "bm25", "score", "probability", "band", "reasons",
  "matches", "phrase", "topic", "count",
];
// A spreadsheet takes a cell that begins with one of these for a formula, full-width ones too.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/**
 * Hits as CSV, as in RFC 4180; metadata fields follow as columns of their own.
 *
 * @param {import("./scores.js").Hit[]} hits
 * @returns {string}
 */
export function csvOf(hits) {
  const fields = [...new Set(hits.flatMap((hit) => Object.keys(hit.metadata)))].sort();
  const head = [...COLUMNS, ...fields.map((field) => `metadata.${field}`), "passage.text"];
  const rows = hits.map((hit) => [
    ...COLUMNS.map((name) => hit[name]),
    ...fields.map((field) => hit.metadata[field]),
    hit.passage.text,
  ]);
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Give a person the CSV of hits. */
export function saveCsv(hits) {
  // The mark at the front tells spreadsheets that it is UTF-8.
  save(new Blob(["\ufeff", csvOf(hits)], { type: "text/csv" }), "hits.csv");
}

/** Give a person the XLSX of hits. */
export async function saveXlsx(hits) {
  save(await askFile("export?format=xlsx", { body: { hits } }), "hits.xlsx");
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = Array.isArray(value) ? value.map((one) => [one].flat().join(" ↔ ")).join("; ") : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
