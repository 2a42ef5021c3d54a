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

/**
 * How many documents say it, in words: "About 4 of 3,000 dialogues say this".
 *
 * @param {number} expected the sum of the probabilities of those with a hit
 * @param {number} found how many have a hit
 * @param {number | null} of how many there are; null if that is not known
 * @param {boolean} complete whether there are no more hits
 * @returns {[string, string]} the number, and what they do
 */
export function sayThis(expected, found, of, complete = true) {
  const number = Math.round(expected);
  const some = number ? `${complete ? "About" : "At least"} ${counted(number)}` : found ? "Hardly any" : "None";
  const them = of === null ? documentWord(number !== 1) : `of ${documents(of)}`;
  return [`${some} ${them}`, number === 1 ? "says this" : "say this"];
}
