/** A document with all hits in it marked, the opened one at the centre, and a map beside it. */

import { element, isolated } from "./dom.js";
import { minimap } from "./minimap.js";
import { shown } from "./hit-row.js";
import { keyOf } from "./scores.js";
import { pieces } from "./text.js";

// The text is cut at line ends into blocks of at least so many characters. Those out of sight
// cost no layout.
const BLOCK = 2000;

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
  parts.text.addEventListener("click", (event) => {
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
    show(document_, hit) {
      const others = document_.hits.filter((other) => keyOf(other) !== keyOf(hit));
      hits = [...others, hit].sort((one, other) => one.start - other.start);
      parts.fields.replaceChildren(...Object.entries(document_.metadata).map(([name, value]) =>
        element("bdi", { class: "field" }, element("span", { class: "soft" }, `${name} `), shown(value))));
      const made = blocks(document_.text, hits);
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

function blocks(text, hits) {
  const made = [];
  const marks = [];
  let block = element("div", { class: "block", dir: "auto" });
  let first = 0;
  const close = (end) => {
    made.push({ element: block, from: first, to: end });
    block = element("div", { class: "block", dir: "auto" });
    first = end;
  };
  const add = (from, to, covering) => {
    const words = text.slice(from, to);
    if (covering.length) {
      // Of hits on the same words the nearest one answers a click.
      const number = covering.reduce((best, other) => (hits[other].cosine > hits[best].cosine ? other : best));
      const mark = element("mark", { "data-number": number }, words);
      marks.push({ element: mark, covering, unit: from });
      block.append(mark);
    } else block.append(words);
  };
  for (const { from, to, covering } of pieces(text, hits)) {
    let begin = from;
    while (begin < to) {
      const wanted = Math.max(begin, first + BLOCK);
      const line = wanted < to ? text.indexOf("\n", wanted) : -1;
      const end = line < 0 || line >= to ? to : line + 1;
      add(begin, end, covering);
      if (end < to) close(end);
      begin = end;
    }
  }
  close(text.length);
  return { blocks: made, marks };
}
