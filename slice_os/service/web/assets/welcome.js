/** The first screen: what the store is, phrases to begin with, and what a probability means. */

import { counted, element, isolated } from "./dom.js";
import { showNotice } from "./notices.js";
import { documents } from "./unit.js";

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/**
 * @param {HTMLElement} notice
 * @param {any} overview of the store; null if it is not known
 * @param {(phrase: string) => void} search
 */
export function welcome(notice, overview, search) {
  const phrases = overview?.phrases ?? [];
  const buttons = phrases.map((phrase) => element("button", { type: "button", dir: "auto", click: () => search(phrase) }, isolated(phrase)));
  showNotice(
    notice,
    "What are you looking for?",
    "Type how somebody might say it. You get every place that says it in other words.",
    ...buttons,
  );
  const [title, text] = [notice.querySelector("h2"), notice.querySelector("p")];
  if (overview) title.before(element("p", { class: "glance" }, inALine(overview)));
  if (buttons.length) text.after(element("p", {}, "Or begin with what is often said here:"));
  notice.append(element("p", {}, "A probability says how likely the words mean your phrase: of 100 hits with 70 %, about 70 do."));
}

/** What values of the fields of mails are called, whose names are no nouns. */
const NOUNS = new Map([["from", "sender"], ["to", "recipient"]]);

/** "3,000 dialogues, 2 March to 26 April 2026, 6 queues". */
export function inALine({ documents: number, first, last, kinds }) {
  const parts = [documents(number)];
  if (first) {
    const [begin, end] = [new Date(first), new Date(last)];
    const sameYear = begin.getUTCFullYear() === end.getUTCFullYear();
    parts.push(first === last ? DATE.format(begin) : `${(sameYear ? DAY : DATE).format(begin)} to ${DATE.format(end)}`);
  }
  for (const [field, values] of Object.entries(kinds)) parts.push(`${counted(values)} ${many(NOUNS.get(field) ?? field)}`);
  return parts.join(", ");
}

function many(noun) {
  if (/s$/.test(noun)) return noun;
  return /[^aeiou]y$/.test(noun) ? noun.replace(/y$/, "ies") : `${noun}s`;
}
