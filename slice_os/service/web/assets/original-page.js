/** The page of the original file that a hit is on, as a picture with its hits marked. */

import { drawing, element } from "./dom.js";
import { inWords } from "./notices.js";
import { ask, documentPath } from "./service.js";

const WIDEST = 2000;
const MOST_SPANS = 2000;

/**
 * @param {{root: HTMLElement, sheet: HTMLElement, number: HTMLElement, former: any, next: any,
 *   toggle: any, view: HTMLElement, reader: HTMLElement}} parts
 * @param {() => {store: string, id: string}} opened the document in the reader
 * @param {(hit: any) => void} choose a mark was clicked
 */
export function originalPage(parts, opened, choose) {
  let running = new AbortController();
  let wanted = !matchMedia("(max-width: 60rem)").matches;
  let hits = [];
  let current = -1;
  let inside = [];
  // Of the page that is shown, or on its way.
  let number = 0;
  let marks = [];

  const pageOf = (hit) => (Number.isInteger(hit?.metadata.page) ? hit.metadata.page : 0);

  function colour() {
    for (const { hit, group } of marks) {
      const at = hits.indexOf(hit);
      group.classList.toggle("now", at === current);
      group.classList.toggle("under", !inside[at]);
    }
  }

  function scroll() {
    const mark = marks.find(({ hit }) => hit === hits[current]);
    if (!mark) return;
    const [box, sheet] = [mark.group.getBoundingClientRect(), parts.sheet.getBoundingClientRect()];
    parts.sheet.scrollBy(box.left - sheet.left - 24, (box.top + box.bottom - sheet.top - sheet.bottom) / 2);
  }

  async function load(page) {
    running.abort();
    const mine = (running = new AbortController());
    number = page;
    marks = [];
    parts.number.textContent = `page ${page}`;
    parts.sheet.replaceChildren(element("p", { class: "soft" }, "Drawing …"));
    const { store, id } = opened();
    // A hit over the end of a page belongs to the page before.
    const near = hits.filter((hit) => Math.abs(pageOf(hit) - page) <= 1).slice(0, MOST_SPANS);
    const frame = drawing("svg", { role: "img" });
    parts.sheet.append(frame);
    const width = Math.round(frame.getBoundingClientRect().width * devicePixelRatio);
    const body = {
      store, page, width: Math.min(WIDEST, Math.max(600, width)),
      spans: near.map(({ start, end }) => ({ start, end })),
    };
    try {
      const shown = await ask(documentPath(id, "pages"), { body, signal: mine.signal });
      draw(frame, shown, near);
    } catch (error) {
      if (error.name !== "AbortError") parts.sheet.replaceChildren(element("p", { class: "wrong" }, inWords(error).text));
    }
  }

  function draw(frame, shown, near) {
    const { page, pages, width, height } = shown;
    parts.number.textContent = `page ${page} of ${pages}`;
    parts.former.disabled = page <= 1;
    parts.next.disabled = page >= pages;
    frame.setAttribute("viewBox", `0 0 ${width} ${height}`);
    frame.setAttribute("aria-label", `Page ${page} of the original file`);
    frame.replaceChildren(drawing("image", { href: shown.picture, width, height }));
    shown.boxes.forEach((boxes, at) => {
      if (!boxes.length) return;
      const group = drawing("g", { click: () => choose(near[at]) }, ...boxes.map(([left, top, right, bottom]) =>
        drawing("rect", { x: left, y: top, width: right - left, height: bottom - top })));
      marks.push({ hit: near[at], group });
      frame.append(group);
    });
    parts.sheet.replaceChildren(frame);
    colour();
    scroll();
  }

  function arrange() {
    const shown = wanted && !parts.toggle.hidden;
    parts.root.hidden = !shown;
    parts.toggle.setAttribute("aria-pressed", String(shown));
    for (const part of [parts.view, parts.reader]) part.classList.toggle("with-original", shown);
    return shown;
  }

  /** Another document is on its way; the page stays where it is. */
  function forget() {
    running.abort();
    number = 0;
    marks = [];
    hits = [];
    parts.number.textContent = "";
    parts.sheet.replaceChildren();
  }

  parts.toggle.addEventListener("click", () => {
    wanted = !wanted;
    if (arrange()) load(pageOf(hits[current]));
  });
  parts.former.addEventListener("click", () => load(number - 1));
  parts.next.addEventListener("click", () => load(number + 1));

  return {
    /** Show the page of the current hit; which of the hits are inside the threshold may change. */
    show(given, at, within) {
      const moved = given !== hits || at !== current;
      if (given !== hits) forget();
      [hits, current, inside] = [given, at, within];
      parts.toggle.hidden = !pageOf(hits[current]);
      if (!arrange()) return;
      if (moved && !marks.some(({ hit }) => hit === hits[current])) {
        load(pageOf(hits[current]));
        return;
      }
      colour();
      if (moved) scroll();
    },
    forget,
    close() {
      forget();
      parts.toggle.hidden = true;
      arrange();
    },
  };
}
