/** The hits of a search, and those of them that count: without the page, and without the service. */

import { leastOf, scopeOf } from "./asked.js";
import { ordered, reaches } from "./scores.js";

/** @typedef {import("./scores.js").Hit} Hit */

// Of what nobody says, so many of the nearest are shown.
export const NEAREST = 10;

/** Whether a hit reaches the cut; of one without the score, the service knew whether it does. */
export function counts(hit, view, store) {
  return hit[view.measure] === null ? !Number(view.most) : reaches(hit, view.measure, leastOf(view, store));
}

export class FoundHits {
  /** @type {Hit[]} */
  all = [];
  /** @type {Hit[]} those that reach the cut, in order */
  visible = [];
  /** Whether there are no others. */
  complete = false;

  reset() {
    this.all = [];
    this.visible = [];
    this.complete = false;
  }

  /** Put the best first: mined hits come in the order of documents. */
  sort(measure) {
    this.all.sort((one, other) => (other[measure] ?? -2) - (one[measure] ?? -2));
  }

  /** Make visible what reaches the cut. */
  cut(view, store) {
    this.visible = ordered(this.all.filter((hit) => counts(hit, view, store)), view.order);
    return this;
  }

  /** Whether a verifier has read any of them. */
  get read() {
    return this.all.some((hit) => hit.probability !== null);
  }

  /** The nearest, in place of visible ones, if none reaches the usual cut; else null. */
  nearest(view) {
    const nobody = this.all.length > 0 && !this.visible.length && view.least === null;
    return nobody ? ordered(this.all, view.measure).slice(0, NEAREST) : null;
  }

  /** How many count, without those that somebody rejected, and what they are of. */
  inAll(view, answerOf) {
    const count = this.visible.filter((hit) => answerOf(hit) !== false).length;
    return { count, scope: scopeOf(view, this.all, this.complete) };
  }
}
