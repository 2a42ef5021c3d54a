/**
 * Offsets of the service count Unicode code points; strings of JavaScript count UTF-16 units.
 */

/** @typedef {{start: number, end: number}} Extent code points of a text */

// Of a conversation, or a text with short lines: the line of the hit, and two on each side.
const LINES = 3;

/**
 * Where code points are in a string.
 *
 * @param {string} text
 * @param {number[]} offsets code points, in any order
 * @returns {Map<number, number>} from each offset to its UTF-16 unit
 */
export function units(text, offsets) {
  const found = new Map();
  let point = 0;
  let unit = 0;
  for (const wanted of [...new Set(offsets)].sort((one, other) => one - other)) {
    while (point < wanted && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      point += 1;
    }
    found.set(wanted, unit);
  }
  return found;
}

/**
 * A passage cut into what is before a hit, the hit, and what is after it.
 *
 * @param {{text: string, start: number}} passage
 * @param {Extent} extent in the document
 * @returns {[string, string, string]}
 */
export function around(passage, extent) {
  const { start, end } = extent;
  const at = units(passage.text, [start - passage.start, end - passage.start]);
  const from = at.get(start - passage.start);
  const to = at.get(end - passage.start);
  return [passage.text.slice(0, from), passage.text.slice(from, to), passage.text.slice(to)];
}

/** The last lines of a text, from a word on, if it is long. */
export function tail(text, most) {
  const lines = text.split("\n").slice(-LINES).join("\n");
  const end = lines.slice(-most);
  const words = end.length < lines.length ? end.slice(end.search(/\s/) + 1) : end;
  return words.length < text.length ? `… ${words.trimStart()}` : text;
}

/** The first lines of a text, up to a word, if it is long. */
export function head(text, most) {
  const lines = text.split("\n").slice(0, LINES).join("\n");
  const begin = lines.slice(0, most);
  const words = begin.length < lines.length ? begin.replace(/\s\S*$/, "") : begin;
  return words.length < text.length ? `${words.trimEnd()} …` : text;
}

/** A text without its empty lines. */
export function dense(text) {
  return text.replace(/[^\S\n]*\n\s*\n/g, "\n");
}

/**
 * A text cut into pieces at the borders of extents, which may overlap.
 *
 * @param {string} text
 * @param {Extent[]} extents
 * @returns {{from: number, to: number, covering: number[]}[]} UTF-16 units, and which extents
 *   cover the piece
 */
export function pieces(text, extents) {
  const at = units(text, extents.flatMap(({ start, end }) => [start, end]));
  const events = extents.flatMap(({ start, end }, number) => [
    { unit: at.get(start), number, opens: true },
    { unit: at.get(end), number, opens: false },
  ]);
  events.sort((one, other) => one.unit - other.unit);
  const found = [];
  const open = new Set();
  let from = 0;
  for (const { unit, number, opens } of events) {
    if (unit > from) found.push({ from, to: unit, covering: [...open] });
    from = Math.max(from, unit);
    if (opens) open.add(number);
    else open.delete(number);
  }
  if (from < text.length) found.push({ from, to: text.length, covering: [] });
  return found;
}
