/** A document with all hits in it marked, the opened one at the centre, and a map beside it. */

import { textBlocks } from "./document-text.js";
import { element, isolated } from "./dom.js";
import { fields } from "./hit-row.js";
import { minimap } from "./minimap.js";
import { keyOf } from "./scores.js";

/**
 * @param {{root: HTMLElement, title: HTMLElement, fields: HTMLElement, text: HTMLElement,
 *   map: any, number: HTMLElement, former: HTMLElement, next: HTMLElement, close: HTMLElement}} parts
 * @param {{closed: () => void, moved: (hit: any) => void,
 *   marked: (hits: any[], current: number, inside: boolean[]) => void}} told
 */
export function documentReader(parts, told) {
  /** @type {import("./scores.js").Hit[]} */
  let hits = [];
  /** @type {{element: HTMLElement, covering: number[], unit: number}[]} */
  let marks = [];
  let current = -1;
  let reaches = (hit) => true;
  const map = minimap(parts.map, parts.text);

  function recolour() {
    const inside = hits.map((hit, number) => number === current || reaches(hit));
    for (const { element: mark, covering } of marks) {
      mark.classList.toggle("under", !covering.some((number) => inside[number]));
      mark.classList.toggle("now", covering.includes(current));
    }
    const visible = hits.map((_, number) => number).filter((number) => inside[number]);
    parts.number.textContent = `${visible.indexOf(current) + 1} of ${visible.length}`;
    map.draw(visible.map((number) => ({ unit: firstMark(number).unit, now: number === current })));
    told.marked(hits, current, inside);
    return visible;
  }

  function firstMark(number) {
    return marks.find(({ covering }) => covering.includes(number)) ?? { unit: 0, element: null };
  }

  function go(number) {
    current = number;
    recolour();
    firstMark(number).element?.scrollIntoView({ block: "center" });
  }

  function step(by) {
    const visible = recolour();
    const next = visible[visible.indexOf(current) + by];
    if (next === undefined) return;
    go(next);
    told.moved(hits[next]);
  }

  parts.former.addEventListener("click", () => step(-1));
  parts.next.addEventListener("click", () => step(1));
  parts.close.addEventListener("click", () => told.closed());
  parts.text.addEventListener("click", (/** @type {Event & {target: HTMLElement}} */ event) => {
    const number = event.target.closest("mark")?.dataset.number;
    if (number === undefined || !document.getSelection()?.isCollapsed) return;
    go(Number(number));
    told.moved(hits[Number(number)]);
  });

  return {
    /** Show that a document is on its way. */
    expect(id) {
      parts.root.hidden = false;
      parts.title.replaceChildren(isolated(id));
      parts.fields.replaceChildren();
      parts.number.textContent = "";
      parts.text.replaceChildren(element("p", { class: "soft" }, "Opening …"));
      hits = [];
      marks = [];
      map.about([]);
      map.draw([]);
    },
    /** Show a document at a hit, which is marked even if it is not among the others. */
    show(document_, hit, colourOf) {
      const others = document_.hits.filter((other) => keyOf(other) !== keyOf(hit));
      // A place without words is none to mark.
      const at = hit.end > hit.start ? [hit] : [];
      hits = [...others, ...at].sort((one, other) => one.start - other.start);
      parts.fields.replaceChildren(...fields(document_.metadata));
      const made = textBlocks(document_.text, hits, document_.turns ?? [], colourOf);
      marks = made.marks;
      map.about(made.blocks);
      parts.text.replaceChildren(...made.blocks.map((block) => block.element));
      go(hits.indexOf(hit));
    },
    /** Go to a hit of the document that is shown; false if it is not among its marks. */
    goTo(hit) {
      const number = hits.findIndex((one) => keyOf(one) === keyOf(hit));
      if (number >= 0) go(number);
      return number >= 0;
    },
    /** Show in place of a document why there is none. */
    fail(message) {
      parts.text.replaceChildren(element("p", { class: "wrong" }, message));
    },
    /** Hits that do not reach the threshold are marked faintly. */
    cut(test) {
      reaches = test;
      if (hits.length) recolour();
    },
    close() {
      parts.root.hidden = true;
      parts.text.replaceChildren();
      hits = [];
      marks = [];
    },
  };
}
