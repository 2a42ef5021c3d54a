/** How many documents say it, in a sentence, and when. Both follow the cut and the answers, without a query. */

import { byId, element } from "./dom.js";
import { timeChart, weekOf } from "./time-chart.js";
import { documents, sayThis } from "./unit.js";

/**
 * @param {(time: {gte: string, lte: string} | null) => void} choose
 * @param {(hit: any) => boolean | undefined} answerOf
 */
export function headline(choose, answerOf) {
  /** @type {{documents: number, weeks: {week: string, documents: number}[]} | null} */
  let store = null;
  const sentence = byId("headline");
  const place = byId("weeks");
  // A chosen bar is made again, and keeps the focus.
  let focused = -1;
  const bars = () => [...place.querySelectorAll("button")];
  place.addEventListener("click", (event) => {
    focused = bars().indexOf(event.target);
  });

  /** Of each document the likeliest hit counts with its probability, as far as nobody knows better. */
  function likely(sure) {
    /** @type {Map<string, number>} */
    const shares = new Map();
    for (const hit of sure) {
      const share = answerOf(hit) ? 1 : hit.probability ?? 1;
      shares.set(hit.doc_id, Math.max(shares.get(hit.doc_id) ?? 0, share));
    }
    return [...shares.values()];
  }

  function drawSentence(sure, { least, measure, complete, within }) {
    const weekly = place.hidden ? "" : "; the bars count these by week";
    const shares = likely(sure);
    const expected = shares.reduce((sum, share) => sum + share, 0);
    const [some, say] = sayThis(expected, shares.length, store && !within ? store.documents : null, complete);
    const sum = sure.some((hit) => hit.probability !== null) ? "The sum of the probabilities of " : "";
    sentence.replaceChildren(
      element("b", {}, some), ` ${say} `,
      element("span", { class: "soft" }, `${sum}${documents(shares.length)} with a hit of ${measure} ${least.toFixed(2)} or more${within ? ", within your filters" : ""}${weekly}.`),
    );
  }

  function drawWeeks(sure, time) {
    const weeks = store?.weeks ?? [];
    place.hidden = weeks.length < 2 || (!sure.length && !time);
    if (place.hidden) return;
    /** @type {Map<string, Set<string>>} */
    const found = new Map(weeks.map(({ week }) => [week, new Set()]));
    for (const hit of sure) found.get(weekOf(hit.metadata.date))?.add(hit.doc_id);
    const rows = weeks.map(({ week, documents }) => ({ from: week, number: found.get(week)?.size ?? 0, of: documents }));
    place.replaceChildren(timeChart(rows, 7, choose, time));
    bars()[focused]?.focus({ preventScroll: true });
    focused = -1;
  }

  return {
    /** The store that the hits are of, at a glance; null if it is not known. */
    about(overview) {
      store = overview;
    },
    /**
     * @param {any[]} visible hits that reach the cut
     * @param {{least: number, measure: string, complete: boolean, within: boolean, time: any}} how
     *   the cut; whether there are no more hits; whether filters narrow them; and to which time
     */
    show(visible, how) {
      const sure = visible.filter((hit) => answerOf(hit) !== false);
      drawWeeks(sure, how.time);
      drawSentence(sure, how);
    },
  };
}
