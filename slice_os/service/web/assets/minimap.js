/** A map of a document: a line for each hit, and a window on what is in sight. */

import { drawing } from "./dom.js";

/** @typedef {{element: HTMLElement, from: number, to: number}} Block characters of a text */

/**
 * Places on the map are shares of the characters: heights of blocks out of sight are not known.
 *
 * @param {any} svg
 * @param {HTMLElement} text the scrolling text
 */
export function minimap(svg, text) {
  const window_ = drawing("rect", { class: "window", x: 0, width: "100%" });
  const lines = drawing("g");
  svg.append(window_, lines);
  /** @type {Block[]} */
  let blocks = [];
  let waiting = 0;

  const length = () => Math.max(1, blocks.at(-1)?.to ?? 1);

  function shareAt(height) {
    const block = blocks.findLast(({ element }) => element.offsetTop <= height) ?? blocks[0];
    if (!block) return 0;
    const { element, from, to } = block;
    const within = (height - element.offsetTop) / Math.max(1, element.offsetHeight);
    return (from + Math.min(1, Math.max(0, within)) * (to - from)) / length();
  }

  function follow() {
    const top = shareAt(text.scrollTop);
    const bottom = shareAt(text.scrollTop + text.clientHeight);
    window_.setAttribute("y", `${top * 100}%`);
    window_.setAttribute("height", `${(bottom - top) * 100}%`);
  }

  function jump(event) {
    const box = svg.getBoundingClientRect();
    const unit = ((event.clientY - box.top) / box.height) * length();
    const block = blocks.findLast(({ from }) => from <= unit);
    if (!block) return;
    const { element, from, to } = block;
    const within = ((unit - from) / Math.max(1, to - from)) * element.offsetHeight;
    text.scrollTop = element.offsetTop + within - text.clientHeight / 2;
  }

  text.addEventListener("scroll", () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      follow();
    });
  });
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    jump(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (svg.hasPointerCapture(event.pointerId)) jump(event);
  });

  return {
    /** @param {Block[]} given of another text */
    about(given) {
      blocks = given;
    },
    /** @param {{unit: number, now: boolean}[]} places the characters that hits begin at */
    draw(places) {
      lines.replaceChildren(...places.map(({ unit, now }) => drawing("rect", {
        class: now ? "line now" : "line", x: 0, width: "100%", y: `${(unit / length()) * 100}%`, height: 3,
      })));
      follow();
    },
  };
}
