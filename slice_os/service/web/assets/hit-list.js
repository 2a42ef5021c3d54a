/**
 * The list of hits. Only as many rows are made as somebody has scrolled to, and each only once; so
 * moving the threshold over thousands of hits costs a few rows.
 */

import { hitRow, showAnswer, showSame } from "./hit-row.js";

const CHUNK = 40;

/**
 * @param {HTMLElement} feed
 * @param {HTMLElement} end an element below the feed; more rows come when it is seen
 * @param {{chosen: (hit: any) => void, deed: (name: string, hit: any) => void,
 *   answerOf: (hit: any) => boolean | undefined, sameAs: (hit: any) => number}} told sameAs is how
 *   many hits in the same words are not shown
 */
export function hitList(feed, end, told) {
  /** @type {Map<any, HTMLElement>} */
  const rows = new Map();
  /** @type {WeakMap<Element, any>} */
  const hitOf = new WeakMap();
  let hits = [];
  let limit = CHUNK;
  let colourOf = (hit) => "";
  let chosen = null;

  function rowOf(hit) {
    let row = rows.get(hit);
    if (!row) {
      row = hitRow(hit, colourOf(hit));
      showAnswer(row, told.answerOf(hit));
      rows.set(hit, row);
      hitOf.set(row, hit);
    }
    return row;
  }

  function lay() {
    feed.hidden = !hits.length;
    const wanted = hits.slice(0, limit).map(rowOf);
    hits.slice(0, limit).forEach((hit, number) => showSame(wanted[number], told.sameAs(hit)));
    /** @type {Set<Element>} */
    const kept = new Set(wanted);
    for (const row of [...feed.children]) if (!kept.has(row)) row.remove();
    let at = feed.firstElementChild;
    for (const row of wanted) {
      if (row === at) at = at.nextElementSibling;
      else feed.insertBefore(row, at);
    }
  }

  /** Tell screen readers which of how many each row is; not while the slider moves. */
  function number() {
    [...feed.children].forEach((row, index) => {
      row.setAttribute("aria-posinset", String(index + 1));
      row.setAttribute("aria-setsize", String(hits.length));
    });
  }

  function choose(hit, focus) {
    rows.get(chosen)?.classList.remove("chosen");
    chosen = hit;
    if (!hit) return;
    const index = hits.indexOf(hit);
    if (index >= limit) {
      limit = index + CHUNK;
      lay();
      number();
    }
    const row = rowOf(hit);
    row.classList.add("chosen");
    if (focus) {
      row.focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    }
    told.chosen(hit);
  }

  feed.addEventListener("click", (/** @type {Event & {target: HTMLElement}} */ event) => {
    const row = event.target.closest(".hit");
    if (!row) return;
    const hit = hitOf.get(row);
    choose(hit, false);
    const deed = event.target.closest("[data-deed]")?.getAttribute("data-deed");
    if (deed) told.deed(deed, hit);
  });
  feed.addEventListener("focusin", (/** @type {Event & {target: HTMLElement}} */ event) => {
    const hit = hitOf.get(event.target.closest(".hit"));
    if (hit && hit !== chosen) choose(hit, false);
  });
  const watcher = new IntersectionObserver((entries) => {
    if (limit >= hits.length || !entries.some((entry) => entry.isIntersecting)) return;
    limit += CHUNK;
    lay();
    number();
    // Observing again tells at once whether the end is still in sight.
    watcher.unobserve(end);
    watcher.observe(end);
  }, /** @type {any} */ ({ scrollMargin: "600px" }));
  watcher.observe(end);

  return {
    /** Begin with other hits. */
    reset(colours) {
      rows.clear();
      hits = [];
      limit = CHUNK;
      colourOf = colours;
      chosen = null;
      feed.replaceChildren();
      feed.hidden = true;
    },
    /** Show these; rows that are there already stay. */
    show(shown) {
      hits = shown;
      lay();
      if (chosen && !hits.includes(chosen)) choose(null, false);
    },
    number,
    /** Choose the hit so many after the chosen one; the first, if none is chosen. */
    step(by) {
      const index = chosen ? hits.indexOf(chosen) + by : 0;
      const next = hits[Math.min(Math.max(index, 0), hits.length - 1)];
      if (next) choose(next, true);
    },
    choose(hit) {
      choose(hit, true);
    },
    shows: (hit) => hits.includes(hit),
    get chosen() {
      return chosen;
    },
    /** Show a hit's answer again. */
    refresh(hit) {
      const row = rows.get(hit);
      if (row) showAnswer(row, told.answerOf(hit));
    },
    refreshAll() {
      for (const hit of rows.keys()) this.refresh(hit);
    },
  };
}
