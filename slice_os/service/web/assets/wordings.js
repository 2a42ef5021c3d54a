/** Offers whole turns that are near to a phrase, as further wordings of it. */

import { element, isolated } from "./dom.js";
import { ask } from "./service.js";

const LOOKED_AT = 40;
const OFFERED = 6;
const MOST_CHARACTERS = 120;

/**
 * Whole turns near to some phrases, each in its own words, the nearest first.
 *
 * @param {any} query as the service reads it, with at least one phrase
 * @returns {Promise<string[]>}
 */
export async function nearTurns(query) {
  const body = { ...query, unit: "turn", top_k: LOOKED_AT, order: "probability", collapse: true };
  const { hits } = await ask("search", { body });
  const known = new Set(query.phrases.map(plain));
  const offered = [];
  for (const { text } of hits) {
    const words = text.replace(/\s+/g, " ").trim();
    if (words.length > MOST_CHARACTERS || known.has(plain(words))) continue;
    known.add(plain(words));
    offered.push(words);
  }
  return offered.slice(0, OFFERED);
}

/**
 * Buttons for wordings; one that is taken goes.
 *
 * @param {string[]} wordings
 * @param {(wording: string) => void} take
 * @returns {HTMLElement}
 */
export function offers(wordings, take) {
  return element("ul", { class: "offers", "aria-label": "Said in this store" }, ...wordings.map((wording) => {
    const item = element("li", {}, element("button", { class: "link", type: "button", dir: "auto", click: () => {
      item.remove();
      take(wording);
    } }, "+ ", isolated(wording)));
    return item;
  }));
}

function plain(text) {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu)?.join(" ") ?? text;
}
