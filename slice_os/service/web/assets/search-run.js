/** Runs searches, one at a time: a later one ends the one before. */

import { TOPIC } from "./asked.js";
import { byId } from "./dom.js";
import { findHits } from "./fetch-hits.js";
import { showError, showNotice } from "./notices.js";

/**
 * @param {() => import("./address.js").View} current
 * @param {import("./found-hits.js").FoundHits} found
 * @param {() => any} store
 * @param {{begins: (view: any) => void, nothingAsked: () => void, asked: () => void,
 *   drawn: () => void, ended: (seconds: string) => void}} told
 */
export function searchRun(current, found, store, told) {
  let running = new AbortController();

  async function run() {
    running.abort();
    const mine = (running = new AbortController());
    const view = current();
    told.begins(view);
    for (const part of ["toolbar", "mining", "notice"]) byId(part).hidden = true;
    if (view.most === TOPIC && !view.topic) view.most = "every";
    byId("most").value = view.most;
    if (!view.phrases.length && view.most !== TOPIC) return told.nothingAsked();
    byId("results").setAttribute("aria-busy", "true");
    told.asked();
    try {
      const began = performance.now();
      await findHits(found, view, store(), mine.signal, told.drawn);
      if (!found.all.length) {
        showNotice(byId("notice"), "Nothing says that here", Object.keys(view.where).length ? "Within the chosen fields there is no hit. Untick some, or try another wording." : "Try a wording with other words, or a shorter one.");
      }
      told.ended(((performance.now() - began) / 1000).toFixed(1));
    } catch (error) {
      if (error.name !== "AbortError") showError(byId("notice"), error, run);
    } finally {
      if (mine === running) {
        byId("results").removeAttribute("aria-busy");
        byId("mining").hidden = true;
      }
    }
  }

  byId("stop").addEventListener("click", () => {
    running.abort();
    told.drawn();
    if (!found.all.length) showNotice(byId("notice"), "Stopped", "No hit had been found yet.");
  });
  return run;
}
