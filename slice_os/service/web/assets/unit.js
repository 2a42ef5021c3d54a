/** What the documents of the shown store are called: dialogues, if they have speakers. */

import { counted, plural } from "./dom.js";

let unit = "document";

/** @param {string} name as the service has it */
export function callDocuments(name) {
  unit = name;
}

/** "1 dialogue", "2 dialogues". */
export function documents(value) {
  return plural(value, unit);
}

/** The word for one, or for several. */
export function documentWord(several = false) {
  return several ? `${unit}s` : unit;
}

/** "Dialogues without", to begin a line with. */
export function documentsWithout() {
  const word = documentWord(true);
  return `${word[0].toUpperCase()}${word.slice(1)} without`;
}

/** "Dialogues by topics". */
export function documentsBy(what) {
  return documentsWithout().replace(/without$/, `by ${what}`);
}

/**
 * How many documents have a hit that nobody rejected, in words: "4 of 3,000 dialogues have a hit".
 *
 * @param {number} found
 * @param {number | null} of how many there are; null if that is not known
 * @param {boolean} complete whether there are no more hits
 * @returns {[string, string]} the number, and what they have
 */
export function haveHits(found, of, complete = true) {
  const none = of === null ? "No" : "None";
  const some = found ? `${complete || found === of ? "" : "At least "}${counted(found)}` : none;
  return [of === null ? `${some} ${documentWord(found !== 1)}` : `${some} of ${documents(of)}`, found === 1 ? "has a hit" : "have a hit"];
}
