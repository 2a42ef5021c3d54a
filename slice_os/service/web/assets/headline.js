/** How many documents say it, in a sentence, and when. Both follow the cut and the answers, without a query. */

import { byId, counted, element, plural } from "./dom.js";
import { timeChart, weekOf } from "./time-chart.js";

/**
 * @param {(time: {gte: string, lte: string} | null) => void} choose
 * @param {(hit: any) => boolean | undefined} answerOf
 */
export function headline(choose, answerOf) {
  /** @type {{documents: number, speakers: string[], weeks: {week: string, documents: number}[]} | null} */
  let store = null;
  const sentence = byId("headline");
  const place = byId("weeks");
  // A chosen bar is made again, and keeps the focus.
  let focused = -1;
  const bars = () => [...place.querySelectorAll("button")];
  place.addEventListener("click", (event) => {
    focused = bars().indexOf(event.target);
  });

  function drawSentence(sure, { least, measure, complete, within }) {
    const noun = store?.speakers.length ? "dialogue" : "document";
    const number = new Set(sure.map((hit) => hit.doc_id)).size;
    const some = number ? `${complete ? "About" : "At least"} ${counted(number)}` : "None";
    const of = store && !within ? `of ${plural(store.documents, noun)}` : plural(number, noun).replace(/^\S+ /, "");
    sentence.replaceChildren(
      element("b", {}, `${some} ${of}`), number > 1 ? "say this" : "says this",
      element("span", { class: "soft" }, `Those with a hit from ${measure} ${least.toFixed(2)} on${within ? ", within your filters" : ""}.`),
    );
  }

  function drawWeeks(sure, time) {
    const weeks = store?.weeks ?? [];
    place.hidden = weeks.length < 2;
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
      drawSentence(sure, how);
      drawWeeks(sure, how.time);
    },
  };
}
