/** How right the hits are by the answers so far, and where to cut them. */

import { byId, counted, element } from "./dom.js";
import { ask } from "./service.js";

const WANTED = 0.8;

/**
 * @param {(hit: any) => boolean | undefined} answerOf
 * @param {(cut: number) => void} choose
 */
export function precisionSoFar(answerOf, choose) {
  const place = byId("precision");
  let asked = "";

  return {
    /** Say it for hits, if any is answered; it is asked for only if that has changed. */
    async show(hits, by) {
      const answered = hits.filter((hit) => answerOf(hit) !== undefined && hit[by] !== null)
        .map((hit) => ({ value: hit[by], right: answerOf(hit) === true }));
      const body = { hits: answered, by, precision: WANTED };
      const now = JSON.stringify(body);
      if (now === asked) return;
      asked = now;
      place.hidden = !answered.length;
      if (place.hidden) return;
      const found = await ask("precision", { body }).catch(() => null);
      if (asked !== now) return;
      place.hidden = !found;
      if (!found) return;
      const right = answered.filter((one) => one.right).length;
      place.replaceChildren(
        `${counted(right)} of ${counted(answered.length)} right: precision ${percent(found.precision)} (${percent(found.low)} to ${percent(found.high)}). `,
        found.cut === null
          ? element("span", { title: found.why }, `Answer more for a cut at ${percent(WANTED)}.`)
          : element("button", { class: "link", type: "button", click: () => choose(found.cut) }, `Cut at ${found.cut.toFixed(2)} for at least ${percent(WANTED)}`),
      );
    },
  };
}

function percent(share) {
  return `${Math.round(100 * share)} %`;
}
