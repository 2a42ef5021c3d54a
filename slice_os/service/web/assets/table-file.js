/** Hits as files, which the service makes. */

import { element } from "./dom.js";
import { askFile } from "./service.js";

/** Give a person the CSV of hits. */
export async function saveCsv(hits) {
  // The mark at the front tells spreadsheets that it is UTF-8.
  save(new Blob(["\ufeff", await askFile("export?format=csv", { body: { hits } })]), "hits.csv");
}

/** Give a person the XLSX of hits. */
export async function saveXlsx(hits) {
  save(await askFile("export?format=xlsx", { body: { hits } }), "hits.xlsx");
}

/** Give a person the counts of all topics as CSV. */
export async function saveCounts(query) {
  save(await askFile(`counts.csv?${new URLSearchParams(query)}`), "counts.csv");
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
