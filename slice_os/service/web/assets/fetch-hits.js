/** Fetches hits from the service: the best passages at once, or every hit as it is found. */

import { TOPIC, leastOf, queryBody, usualLeast } from "./asked.js";
import { byId, counted, plural } from "./dom.js";
import { NEAREST } from "./found-hits.js";
import { readerName } from "./labels.js";
import { toast } from "./notices.js";
import { ServiceError, ask, askLines } from "./service.js";

const MOST_MINED = 5000;
const PAUSE = 300;
// How far below the threshold hits are fetched, so that the slider has room.
const ROOM = 0.1;

/**
 * Find what a view asks for: its best passages, or every hit, and the nearest if there is none.
 *
 * @param {import("./found-hits.js").FoundHits} found is filled
 * @param {import("./address.js").View} view
 * @param {any} store
 * @param {AbortSignal} signal
 * @param {() => void} drawn called when there are some, and at the end
 */
export async function findHits(found, view, store, signal, drawn) {
  const { measure, most } = view;
  const query = queryBody(view, readerName());
  if (Number(most)) {
    found.all = await bestHits(query, Number(most), signal);
    found.complete = found.all.length < Number(most);
  } else {
    // A topic has its own cut; for phrases there is some room below, for the slider.
    const floor = Math.max(0, Math.min(leastOf(view, store), usualLeast(view, store)) - ROOM);
    const cut = most === TOPIC ? {} : { [measure === "cosine" ? "threshold" : "min_probability"]: floor };
    found.complete = await mineHits(found.all, { ...query, ...cut }, signal, drawn);
    if (!found.all.length && most !== TOPIC) found.all = await bestHits(query, NEAREST, signal);
  }
  drawn();
}

/** The best passages for a query. */
async function bestHits(query, most, signal) {
  const body = { ...query, top_k: most };
  if (most > 200) body.num_candidates = most;
  return (await ask("search", { body, signal })).hits;
}

/**
 * Every hit of a query, added to those found as they come; tells how far it is.
 *
 * @param {any[]} found
 * @param {Object} query
 * @param {AbortSignal} signal
 * @param {() => void} some called now and then, if there is a hit
 * @returns {Promise<boolean>} whether these are all
 */
async function mineHits(found, query, signal, some) {
  const bar = byId("progress");
  byId("mining").hidden = false;
  bar.removeAttribute("value");
  byId("progress-text").textContent = "Reading the whole store …";
  let complete = false;
  let told = 0;
  for await (const line of askLines("mine", { body: { ...query, limit: MOST_MINED }, signal })) {
    if (line.error) throw new ServiceError(500, line.error.code, line.error.message);
    if (line.hit) found.push(line.hit);
    if (line.progress) {
      const { done, of } = line.progress;
      if (of) Object.assign(bar, { max: of, value: done });
      byId("progress-text").textContent = `${counted(done)}${of ? ` of ${counted(of)}` : ""} · ${plural(found.length, "hit")}`;
    }
    if (line.summary) ({ complete } = line.summary);
    if (line.summary && !complete) toast(`Shown are the first ${counted(found.length)} hits; there are more.`);
    if (performance.now() - told > PAUSE && found.length) {
      some();
      told = performance.now();
    }
  }
  return complete;
}
