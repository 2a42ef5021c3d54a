/** The search: asks the service, and shows the hits that reach the threshold. */

import { answering } from "./answering.js";
import { TOPIC, leastOf, queryBody, samePhrases, scopeOf, usualLeast } from "./asked.js";
import { byId, coloursBy, counted, plural } from "./dom.js";
import { sampleInWords } from "./estimate-words.js";
import { facetPanel } from "./facets.js";
import { bestHits, mineHits } from "./fetch-hits.js";
import { headline } from "./headline.js";
import { hitList } from "./hit-list.js";
import { labelBook, readerName } from "./labels.js";
import { showError, showNotice, tell, toast, toastError } from "./notices.js";
import { queryForm } from "./query-form.js";
import { narrow, readerPane } from "./reader-pane.js";
import { sameWords } from "./same-words.js";
import { keyOf, ordered, reaches } from "./scores.js";
import { ask } from "./service.js";
import { saveHits } from "./table-file.js";
import { thresholdControl } from "./threshold.js";
import { topicPath } from "./topic-form.js";
import { welcome } from "./welcome.js";
import { nearTurns } from "./wordings.js";

// How far below the threshold hits are fetched, so that the slider has room.
const ROOM = 0.1;
// Of what nobody says, so many of the nearest are shown.
const NEAREST = 10;

/**
 * @param {() => import("./address.js").View} current the view of the page
 * @param {(change: Object, pushed?: boolean) => void} change changes it, and the address
 * @param {ReturnType<import("./topic-form.js").topicForm>} topics
 * @param {() => Promise<void>} topicsChanged
 */
export function searchView(current, change, topics, topicsChanged) {
  /** @type {import("./scores.js").Hit[]} */
  let found = [];
  let visible = [];
  let running = new AbortController();
  /** @type {any} */
  let store = { min_probability: null, threshold: 0.6, least_cosine: -1 };
  const root = byId("results");
  const notice = byId("notice");
  const feed = byId("hits");
  const book = labelBook(() => current().store);
  const same = sameWords();
  const says = headline((time) => facets.allow("date", time), book.answerOf);
  /** The store at a glance; null until it is known. */
  let glance = null;
  let complete = false;

  const form = queryForm(byId("query"), () => {
    const asked = form.read();
    // Other phrases are no longer those of the topic.
    if (asked.most === TOPIC && !samePhrases(asked, current())) asked.most = "every";
    change({ ...asked, ...(asked.most !== TOPIC && { least: null }), open: null }, true);
    run().then(() => narrow() && root.scrollIntoView());
  }, (phrases) => nearTurns({ ...queryBody({ ...current(), most: "every" }), phrases }));
  const list = hitList(feed, byId("more"), {
    chosen: (hit) => reader.follow(hit),
    deed: (name, hit) => {
      if (name === "open") reader.open(hit);
      else if (name === "same") showSame(hit);
      else answers.answer(hit, name === "yes");
    },
    answerOf: book.answerOf,
    sameAs: same.behind,
  });
  const threshold = thresholdControl(
    { svg: byId("histogram"), slider: byId("least"), value: byId("least-value"), from: byId("scale-from"), to: byId("scale-to") },
    {
      moved: (least) => {
        current().least = least;
        show();
      },
      settled: () => {
        change({});
        list.number();
        tell(inAll());
      },
    },
  );
  const facets = facetPanel(byId("facets"), (where) => {
    change({ ...form.read(), where, open: null }, true);
    if (current().phrases.length) run();
  });
  const reader = readerPane(current, change, () => queryBody(current(), readerName()), (mark) => {
    const hit = current().page === "search" && visible.find((one) => keyOf(one) === keyOf(mark));
    if (!hit || hit === list.chosen) return;
    if (!list.shows(hit)) showSame(hit);
    list.choose(hit);
  });

  const answers = answering(current, change, { book, list, topics, same }, { topicsChanged, answered: () => found.length && sayHow(), reread: run, isVisible: (hit) => visible.includes(hit) });
  const least = () => leastOf(current(), store);

  /** Whether a hit reaches the cut; of one without the score, the service knew whether it does. */
  function counts(hit) {
    const { measure, most } = current();
    return hit[measure] === null ? !Number(most) : reaches(hit, measure, least());
  }

  /** The hits that count: those that reach the cut, without what is rejected. */
  function counting() {
    return visible.filter((hit) => book.answerOf(hit) !== false);
  }

  /** Hits with their answers, for a file. */
  function answered(hits) {
    return hits.map((hit) => ({ ...hit, label: book.answerOf(hit) ?? null }));
  }

  function inAll() {
    return `${plural(counting().length, "hit")} ${scopeOf(current(), found, complete)}`.trim();
  }

  /** Show what reaches the threshold: no query, and called up to once a frame. */
  function show() {
    const { measure, order } = current();
    visible = ordered(found.filter(counts), order);
    const nobody = found.length > 0 && !visible.length && current().least === null;
    feed.classList.toggle("nearest", nobody);
    list.show(current().collapse ? same.once(visible) : same.all(visible));
    facets.count(visible);
    sayHow();
    reader.cut(counts);
    if (nobody) {
      showNotice(notice, "Nobody says this", "Nearest:");
      list.show(ordered(found, measure).slice(0, NEAREST));
    } else if (found.length && !visible.length) {
      showNotice(notice, "No hit reaches this threshold", `Move the slider to the left to see ${plural(found.length, "hit")}.`);
    } else if (found.length) notice.hidden = true;
  }

  function showSame(hit) {
    same.open(hit);
    show();
    list.number();
  }

  /** Say how many hits count, of what, and how many documents have one, as far as is known. */
  function sayHow() {
    const count = counting().length;
    byId("count").textContent = counted(count);
    byId("scope").textContent = ` ${count === 1 ? "hit" : "hits"} ${scopeOf(current(), found, complete)}`;
    const answers = visible.map(book.answerOf).filter((answer) => answer !== undefined);
    const right = answers.filter(Boolean).length;
    byId("answered").textContent = answers.length ? `${counted(right)} accepted, ${counted(answers.length - right)} rejected` : "";
    const { where, measure, most } = current();
    const near = measure === "probability" && !Number(most) ? store.least_cosine : null;
    says.show(visible, { least: least(), measure, near, complete, within: Object.keys(where).length > 0, time: where.date });
  }

  /** What a labelled sample tells of the topic whose hits are shown. */
  async function sayEstimate() {
    const { most, topic } = current();
    const found_ = most === TOPIC ? await ask(`${topicPath(topic)}/estimate?${new URLSearchParams({ store: store.name })}`).catch(() => null) : null;
    const place = byId("estimated");
    place.hidden = !found_ || current().topic !== topic;
    if (found_) place.textContent = `At the cut of the topic: ${sampleInWords(found_)}.`;
  }

  function drawAll() {
    const view = current();
    const scored = found.some((hit) => hit.probability !== null);
    byId("measures").disabled = !scored;
    if (found.length && !scored) view.measure = "cosine";
    byId("measures").querySelector(`[value=${view.measure}]`).checked = true;
    byId("order").value = view.order;
    byId("toolbar").hidden = !found.length;
    threshold.draw(found, view.measure, least());
    show();
    list.number();
  }

  async function run() {
    running.abort();
    const mine = (running = new AbortController());
    const view = current();
    reader.close();
    found = [];
    visible = [];
    complete = false;
    same.reset();
    list.reset(coloursBy("phrase", view.phrases));
    byId("toolbar").hidden = true;
    byId("mining").hidden = true;
    notice.hidden = true;
    if (view.most === TOPIC && !view.topic) view.most = "every";
    if (!view.phrases.length && view.most !== TOPIC) return begin();
    root.setAttribute("aria-busy", "true");
    sayEstimate();
    try {
      const began = performance.now();
      if (!Number(view.most)) await mineAll(mine.signal);
      else await searchBest(Number(view.most), mine.signal);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      if (!found.length) {
        showNotice(notice, "Nothing says that here", Object.keys(view.where).length ? "Within the chosen fields there is no hit. Untick some, or try another wording." : "Try a wording with other words, or a shorter one.");
      }
      tell(`${inAll()}, in ${seconds} seconds`);
      if (view.open) reader.reopen(found);
    } catch (error) {
      if (error.name !== "AbortError") showError(notice, error, run);
    } finally {
      if (mine === running) {
        root.removeAttribute("aria-busy");
        byId("mining").hidden = true;
      }
    }
  }

  async function searchBest(most, signal) {
    found = await bestHits(queryBody(current(), readerName()), most, signal);
    complete = found.length < most;
    drawAll();
  }

  async function mineAll(signal) {
    const { measure, most } = current();
    // A topic has its own cut; for phrases there is some room below, for the slider.
    const floor = Math.max(0, Math.min(least(), usualLeast(current(), store)) - ROOM);
    const cut = most === TOPIC ? {} : { [measure === "cosine" ? "threshold" : "min_probability"]: floor };
    const query = queryBody(current(), readerName());
    complete = await mineHits(found, { ...query, ...cut }, signal, drawMined);
    if (!found.length && most !== TOPIC) found = await bestHits(query, NEAREST, signal);
    drawMined();
  }

  /** The best first: mined hits come in the order of documents. */
  function drawMined() {
    found.sort((one, other) => (other[current().measure] ?? -2) - (one[current().measure] ?? -2));
    drawAll();
  }

  async function look(name) {
    const found_ = await ask(`stores/${encodeURIComponent(name)}/overview`).catch(() => null);
    if (current().store !== name) return;
    glance = found_;
    says.about(glance);
    form.suggest(glance?.phrases[0]);
    if (found.length) sayHow();
    else if (!current().phrases.length) begin();
  }

  function begin() {
    root.removeAttribute("aria-busy");
    welcome(notice, glance, (phrase) => {
      form.fill({ ...current(), phrases: [phrase], counters: [] });
      byId("query").requestSubmit();
    });
  }

  byId("stop").addEventListener("click", () => {
    running.abort();
    drawMined();
    if (!found.length) showNotice(notice, "Stopped", "No hit had been found yet.");
  });
  byId("measures").addEventListener("change", () => {
    change({ measure: byId("measures").querySelector(":checked").value, least: null });
    // Hits that were cut by one score are not all that the other one has.
    if (Number(current().most)) drawAll();
    else run();
  });
  byId("order").addEventListener("change", () => {
    change({ order: byId("order").value });
    show();
    list.number();
  });
  byId("save-file").addEventListener("click", () => saveHits(answered(visible), byId("file-format").value, store.name).catch(toastError));
  byId("copy-link").addEventListener("click", async () => {
    change({});
    await navigator.clipboard.writeText(location.href).then(() => toast("Link copied"), () => toast("The browser does not allow it: copy the address.", true));
  });

  return {
    reader,
    /** Show the view of the page, with a store. */
    async open(opened) {
      const view = current();
      store = opened;
      glance = null;
      says.about(null);
      form.fill(view);
      await Promise.all([
        facets.show(store.name, store.fields ?? {}, view.where),
        look(store.name),
        book.open(view.topic).catch(toastError),
        run(),
      ]);
      facets.count(visible);
      list.refreshAll();
      if (found.length) sayHow();
    },
    keys: {
      "/": () => form.focus(),
      j: () => list.step(1),
      k: () => list.step(-1),
      o: () => list.chosen && reader.open(list.chosen),
      y: answers.accept,
      n: answers.reject,
      u: answers.undo,
      Escape: () => reader.close(),
    },
  };
}
