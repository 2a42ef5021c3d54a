/** The text of a document as blocks with marks: the turns of a conversation, or parts cut at lines. */

import { clock, element, isolated } from "./dom.js";
import { pieces } from "./text.js";

// Blocks that are no turns have at least so many characters. Those out of sight cost no layout.
const BLOCK = 2000;

/**
 * @param {string} text
 * @param {import("./scores.js").Hit[]} hits
 * @param {{start: number, end: number, speaker: string | null, start_time: number | null}[]} turns
 * @param {(hit: any) => string} colourOf
 * @returns {{blocks: import("./minimap.js").Block[], marks: {element: HTMLElement, covering: number[], unit: number}[]}}
 */
export function textBlocks(text, hits, turns, colourOf) {
  const made = [];
  const marks = [];
  let block = null;
  let place = null;
  let open = -1;
  let first = 0;

  function begin(from, turn) {
    place = block = element("div", { class: "block", dir: "auto" });
    open = turn;
    first = from;
    if (turn >= 0) place = turned(block, turns[turn], turn);
  }

  function close(end) {
    made.push({ element: block, from: first, to: end });
    block = null;
  }

  function add(from, to, covering) {
    const words = text.slice(from, to);
    if (!covering.length) return place.append(words);
    // Of hits on the same words the nearest one answers a click.
    const number = covering.reduce((best, other) => (hits[other].cosine > hits[best].cosine ? other : best));
    const mark = element("mark", { "data-number": number, class: colourOf(hits[number]) }, words);
    marks.push({ element: mark, covering, unit: from });
    place.append(mark);
  }

  for (const { from, to, covering } of pieces(text, [...hits, ...turns])) {
    const turn = (covering.find((number) => number >= hits.length) ?? hits.length - 1) - hits.length;
    const own = covering.filter((number) => number < hits.length);
    if (block && turn !== open) close(from);
    if (turns.length && turn < 0 && isBetween(text.slice(from, to), made.length, turns)) continue;
    let at = from;
    while (at < to) {
      if (!block) begin(at, turn);
      const wanted = Math.max(at, first + BLOCK);
      const line = !turns.length && wanted < to ? text.indexOf("\n", wanted) : -1;
      const end = line < 0 || line >= to ? to : line + 1;
      add(at, end, own);
      if (end < to) close(end);
      at = end;
    }
  }
  if (!block && !made.length) begin(0, -1);
  if (block) close(text.length);
  return { blocks: made, marks };
}

/** Make a block a turn; returns the place of its words. */
function turned(block, turn, number) {
  block.classList.add("turn");
  block.removeAttribute("dir");
  const said = element("p", { dir: "auto" });
  block.append(
    element(
      "span", { class: "who", title: `Turn ${number + 1}` },
      turn.speaker === null ? element("b", {}, `Turn ${number + 1}`) : element("b", {}, isolated(turn.speaker)),
      turn.start_time === null ? null : element("time", {}, clock(turn.start_time)),
    ),
    said,
  );
  return said;
}

/** Whether what stands between two turns is only white space, or the name of who speaks next. */
function isBetween(words, next, turns) {
  const said = words.trim();
  return !said || said.replace(/\s*:$/, "") === turns[next]?.speaker;
}
