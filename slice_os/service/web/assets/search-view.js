/** The search: its parts, and what each tells the others. */

import { answering } from "./answering.js";
import { TOPIC, leastOf, queryBody, samePhrases } from "./asked.js";
import { byId, coloursBy, plural } from "./dom.js";
import { facetPanel } from "./facets.js";
import { FoundHits, counts } from "./found-hits.js";
import { headline } from "./headline.js";
import { sayEstimate, sayHow } from "./hit-figures.js";
import { hitList } from "./hit-list.js";
import { labelBook, readerName } from "./labels.js";
import { showNotice, tell, toastError } from "./notices.js";
import { queryForm } from "./query-form.js";
import { narrow, readerPane } from "./reader-pane.js";
import { sameWords } from "./same-words.js";
import { keyOf } from "./scores.js";
import { searchRun } from "./search-run.js";
import { ask } from "./service.js";
import { thresholdControl } from "./threshold.js";
import { toolbar } from "./toolbar.js";
import { welcome } from "./welcome.js";
import { nearTurns } from "./wordings.js";

/**
 * @param {() => import("./address.js").View} current the view of the page
 * @param {(change: Object, pushed?: boolean) => void} change changes it, and the address
 * @param {ReturnType<import("./topic-form.js").topicForm>} topics
 * @param {() => Promise<void>} topicsChanged
 */
export function searchView(current, change, topics, topicsChanged) {
  /** The store as the service has it, and at a glance, which is null until it is known. */
  const opened = { /** @type {any} */ store: { min_probability: null, threshold: 0.6, least_cosine: -1 }, glance: null };
  const found = new FoundHits();
  const book = labelBook(() => current().store);
  const same = sameWords();
  const says = headline((time) => facets.allow("date", time), book.answerOf);
  const said = () => sayHow(found, current(), opened.store, book.answerOf, says);
  const reached = (hit) => counts(hit, current(), opened.store);

  /** What the form asks for. Other phrases are no longer those of the topic. */
  function asked() {
    const given = form.read();
    return given.most === TOPIC && !samePhrases(given, current()) ? { ...given, most: "every", least: null } : given;
  }

  const form = queryForm(byId("query"), () => {
    const given = asked();
    change({ ...given, ...(given.most !== TOPIC && { least: null }), open: null }, true);
    run().then(() => narrow() && byId("results").scrollIntoView());
  }, (phrases) => nearTurns({ ...queryBody({ ...current(), most: "every" }), phrases }));
  const list = hitList(byId("hits"), byId("more"), {
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
    change({ ...asked(), where, open: null }, true);
    if (current().phrases.length) run();
  });
  const reader = readerPane(current, change, () => queryBody(current(), readerName()), (mark) => {
    const hit = current().page === "search" && found.visible.find((one) => keyOf(one) === keyOf(mark));
    if (!hit || hit === list.chosen) return;
    if (!list.shows(hit)) showSame(hit);
    list.choose(hit);
  });
  const bar = toolbar(change, {
    // Hits that were cut by one score are not all that the other one has.
    measured: () => (Number(current().most) ? drawAll() : run()),
    ordered: showAgain,
    saved: () => ({ hits: found.visible.map((hit) => ({ ...hit, label: book.answerOf(hit) ?? null })), store: opened.store.name }),
  });
  const run = searchRun(current, found, () => opened.store, {
    begins: (view) => {
      reader.close(true);
      found.reset();
      same.reset();
      list.reset(coloursBy("phrase", view.phrases));
    },
    nothingAsked: begin,
    asked: () => sayEstimate(current, opened.store),
    drawn: () => {
      if (!Number(current().most)) found.sort(current().measure);
      drawAll();
    },
    ended: (seconds) => {
      tell(`${inAll()}, in ${seconds} seconds`);
      if (current().open) reader.reopen(found.all);
    },
  });
  const answers = answering(current, change, { book, list, topics, same }, { topicsChanged, answered: () => found.all.length && said(), reread: run, isVisible: (hit) => found.visible.includes(hit) });

  function inAll() {
    const { count, scope } = found.inAll(current(), book.answerOf);
    return `${plural(count, "hit")} ${scope}`.trim();
  }

  /** Show what reaches the threshold: no query, and called up to once a frame. */
  function show() {
    const { all, visible } = found.cut(current(), opened.store);
    const nearest = found.nearest(current());
    byId("hits").classList.toggle("nearest", nearest !== null);
    list.show(current().collapse ? same.once(visible) : same.all(visible));
    facets.count(visible);
    said();
    reader.cut(reached);
    if (nearest) {
      showNotice(byId("notice"), "Nobody says this", "Nearest:");
      list.show(nearest);
    } else if (all.length && !visible.length) {
      showNotice(byId("notice"), "No hit reaches this threshold", `Move the slider to the left to see ${plural(all.length, "hit")}.`);
    } else if (all.length) byId("notice").hidden = true;
  }

  function showAgain() {
    show();
    list.number();
  }

  function showSame(hit) {
    same.open(hit);
    showAgain();
  }

  function drawAll() {
    bar.draw(current(), found);
    threshold.draw(found.all, current().measure, leastOf(current(), opened.store));
    showAgain();
  }

  async function look(name) {
    const glance = await ask(`stores/${encodeURIComponent(name)}/overview`).catch(() => null);
    if (current().store !== name) return;
    opened.glance = glance;
    says.about(glance);
    form.suggest(glance?.phrases[0]);
    if (found.all.length) said();
    else if (!current().phrases.length) begin();
  }

  function begin() {
    byId("results").removeAttribute("aria-busy");
    welcome(byId("notice"), opened.glance, (phrase) => {
      form.fill({ ...current(), phrases: [phrase], counters: [] });
      byId("query").requestSubmit();
    });
  }

  return {
    reader,
    /** Show the view of the page, with a store. */
    async open(store) {
      const view = current();
      Object.assign(opened, { store, glance: null });
      says.about(null);
      form.fill(view);
      await Promise.all([
        facets.show(store.name, store.fields ?? {}, view.where),
        look(store.name),
        book.open(view.topic).catch(toastError),
        run(),
      ]);
      facets.count(found.visible);
      list.refreshAll();
      if (found.all.length) said();
    },
    keys: {
      "/": () => form.focus(),
      j: () => list.step(1),
      k: () => list.step(-1),
      o: () => list.chosen && reader.open(list.chosen),
      y: answers.accept,
      n: answers.reject,
      u: answers.undo,
    },
  };
}
