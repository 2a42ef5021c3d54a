/** How many documents have a hit, in a sentence, and when. Both follow the cut and the answers, without a query. */

import { byId, element } from "./dom.js";
import { perHundred, timeChart, weekOf } from "./time-chart.js";
import { haveHits } from "./unit.js";

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

  function drawSentence(sure, { least, measure, near, complete, within }) {
    const of = store && !within ? store.documents : null;
    const found = new Set(sure.map((hit) => hit.doc_id)).size;
    const [some, have] = haveHits(found, of, complete);
    const read = near === null ? "" : `, among those from cosine ${near.toFixed(2)} on`;
    sentence.replaceChildren(
      element("b", {}, some), ` ${have} `,
      element("span", { class: "soft" }, [
        `of ${measure} ${least.toFixed(2)} or more${read}`,
        ...(of ? [`${perHundred(found, of)} per 100`] : []),
        ...(within ? ["within your filters"] : []),
      ].join(", "), place.hidden ? "." : `; a bar counts those of ${place.firstElementChild.dataset.period}.`),
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
     * @param {{least: number, measure: string, near: number | null, complete: boolean, within: boolean, time: any}} how
     *   the cut, and the cosine from which on hits were looked at; whether there are no more hits;
     *   whether filters narrow them; and to which time
     */
    show(visible, how) {
      const sure = visible.filter((hit) => answerOf(hit) !== false);
      drawWeeks(sure, how.time);
      drawSentence(sure, how);
    },
  };
}
