/** A map of a document: a line for each hit, and a window on what is in sight. */

import { drawing } from "./dom.js";

/**
 * @param {any} svg
 * @param {HTMLElement} text the scrolling text, whose children follow each other
 */
export function minimap(svg, text) {
  const window_ = drawing("rect", { class: "window", x: 0, width: "100%" });
  const lines = drawing("g");
  svg.append(window_, lines);
  let waiting = 0;

  function follow() {
    const { scrollTop, scrollHeight, clientHeight } = text;
    const whole = Math.max(1, scrollHeight);
    window_.setAttribute("y", `${(scrollTop / whole) * 100}%`);
    window_.setAttribute("height", `${(clientHeight / whole) * 100}%`);
  }

  function jump(event) {
    const box = svg.getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    text.scrollTop = share * text.scrollHeight - text.clientHeight / 2;
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
    /** @param {{share: number, now: boolean}[]} places where hits are, 0 to 1 */
    draw(places) {
      lines.replaceChildren(...places.map(({ share, now }) =>
        drawing("rect", { class: now ? "line now" : "line", x: 0, width: "100%", y: `${share * 100}%`, height: 3 })));
      follow();
    },
    follow,
  };
}
