/** The slider under its histogram: moving it asks no query. */

import { counted, drawing } from "./dom.js";
import { BINS, bins, lowest } from "./scores.js";

const WIDTH = 500;
const HEIGHT = 60;

/**
 * @param {{svg: any, slider: any, value: any, from: any, to: any}} parts
 * @param {{moved: (least: number) => void, settled: () => void}} told moved comes at most once a
 *   frame
 */
export function thresholdControl(parts, told) {
  const { svg, slider, value } = parts;
  const window_ = drawing("rect", { x: 0, y: 0, width: WIDTH, height: HEIGHT });
  const below = drawing("g", { class: "below" });
  const above = drawing("g", { class: "above", "clip-path": "url(#reached)" });
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.append(
    drawing("defs", {}, drawing("clipPath", { id: "reached" }, window_)), below, above,
  );
  let from = 0;
  let waiting = 0;

  function place(least) {
    const x = ((least - from) / (1 - from)) * WIDTH;
    window_.setAttribute("x", String(x));
    value.textContent = least.toFixed(2);
    slider.setAttribute("aria-valuetext", least.toFixed(2));
  }

  function move() {
    waiting = 0;
    place(slider.valueAsNumber);
    told.moved(slider.valueAsNumber);
  }

  slider.addEventListener("input", () => {
    waiting ||= requestAnimationFrame(move);
  });
  slider.addEventListener("change", () => {
    cancelAnimationFrame(waiting);
    move();
    told.settled();
  });

  return {
    /** Draw hits, with the slider at a value. */
    draw(hits, measure, least) {
      from = lowest(hits, measure, least);
      slider.min = String(from);
      slider.max = "1";
      slider.step = "0.01";
      slider.value = String(least);
      slider.setAttribute("aria-label", `Least ${measure}`);
      parts.from.textContent = from.toFixed(2);
      parts.to.textContent = "1.00";
      const found = bins(hits, measure, from);
      const most = Math.max(1, ...found);
      svg.setAttribute("aria-label", `Hits by ${measure}, at most ${counted(most)} in one bar`);
      const bars = () => found.flatMap((count, number) => (count ? [bar(count, number, most)] : []));
      below.replaceChildren(...bars());
      above.replaceChildren(...bars());
      place(slider.valueAsNumber);
    },
  };
}

/** By the square root, so that a few good hits show beside many poor ones. */
function bar(count, number, most) {
  const width = WIDTH / BINS;
  const height = Math.max(2, HEIGHT * Math.sqrt(count / most));
  return drawing("rect", {
    x: number * width + 1, y: HEIGHT - height, width: width - 2, height,
  });
}
