/** Hits as files, which the service makes. */

import { element } from "./dom.js";
import { askFile } from "./service.js";

/** Give a person hits of a store in a format of the service's. */
export async function saveHits(hits, format, store) {
  const file = await askFile(`export?${new URLSearchParams({ format })}`, { body: { hits, store } });
  // The mark at the front tells spreadsheets that it is UTF-8.
  save(format === "csv" ? new Blob(["\ufeff", file]) : file, `hits.${format}`);
}

/** Give a person the counts of all topics as CSV. */
export async function saveCounts(query) {
  save(await askFile(`counts.csv?${new URLSearchParams(query)}`), "counts.csv");
}

/** Give a person the table of documents by topics. */
export async function saveMatrix(body, format) {
  const file = await askFile(`matrix?${new URLSearchParams({ format })}`, { body });
  save(format === "csv" ? new Blob(["\ufeff", file]) : file, `matrix.${format}`);
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
