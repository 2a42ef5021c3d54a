/** The board of all topics. */

import { sure } from "./dialogs.js";
import { byId, counted, element, isolated } from "./dom.js";
import { inWords, sentence, showError, showNotice, toast, toastError } from "./notices.js";
import { ServiceError, ask, askLines } from "./service.js";
import { isRule } from "./rules.js";
import { usualCut } from "./scores.js";
import { saveCounts } from "./table-file.js";
import { estimateTask } from "./estimate-task.js";
import { ruleForm } from "./rule-form.js";
import { topicCard } from "./topic-card.js";
import { quoted, topicPath } from "./topic-form.js";
import { documentWord, documents, documentsBy } from "./unit.js";

/**
 * @param {ReturnType<import("./topic-form.js").topicForm>} form
 * @param {{search: (topic: any) => void, match: (view: Object) => void, changed: () => void}} told
 */
export function topicBoard(form, told) {
  const by = byId("counts-by");
  const within = byId("counts-within");
  const board = byId("board");
  const notice = byId("board-notice");
  const rules = ruleForm();
  const estimate = estimateTask();
  /** @type {any} as the service has it */
  let store = {};
  let topics = [];
  let running = new AbortController();

  byId("stop-counting").addEventListener("click", leave);
  byId("show-matrix").addEventListener("click", () => told.match({ page: "matrix" }));
  byId("new-topic").addEventListener("click", async () => {
    if (await form.make({ phrases: [] })) await again();
  });
  byId("new-rule").addEventListener("click", async () => {
    if (await rules({}, true, topics, store)) await again();
  });
  for (const choice of [by, within]) choice.addEventListener("change", () => show(store));
  byId("save-counts").addEventListener("click", () => saveCounts(asked()).catch(toastError));

  /** What is counted, as the service reads it. */
  function asked() {
    return { store: store.name, by: by.value, ...(within.value && { within: within.value }) };
  }

  async function again() {
    told.changed();
    await show(store);
  }

  /** Edit a topic as it is now, whoever changed it meanwhile, with what is added to it. */
  async function edit({ name }, added = (topic) => topic) {
    const topic = added(await ask(topicPath(name)));
    const saved = await (isRule(topic) ? rules(topic, false, topics, store) : form.change(topic));
    if (!saved) return;
    toast(`${topic.name} saved`);
    await again();
  }

  async function measure(topic) {
    await estimate(topic, store.name);
    await again();
  }

  async function drop(topic) {
    if (!await sure(`Delete the topic ${topic.name}? Its answers stay in the labels file.`)) return;
    await ask(topicPath(topic.name), { method: "DELETE", headers: { "If-Match": quoted(topic.etag) } }).catch(toastError);
    await again();
  }

  async function show(opened) {
    store = opened;
    offerFields(Object.keys(store.fields ?? {}));
    byId("show-matrix").textContent = documentsBy("topics");
    notice.hidden = true;
    try {
      const found = await ask("topics");
      const { problems = [] } = found;
      ({ topics } = found);
      byId("new-rule").disabled = !topics.some((topic) => !isRule(topic));
      const view = asked();
      const deeds = { search: told.search, match: told.match, edit, drop, changed: again, estimate: measure, settled: tellAgreement };
      const cards = topics.map((topic) => topicCard(topic, { ...view, usual: usualCut(store) }, deeds));
      const broken = problems.map((problem) => element("p", { class: "wrong" }, isolated(sentence(problem))));
      board.replaceChildren(...broken, ...cards);
      if (!topics.length) {
        const start = element("button", { class: "main", type: "button", click: () => byId("new-topic").click() }, "Make a topic");
        showNotice(notice, "No topics yet", "A topic is a set of phrases that mean the same. Search for one and choose “Save as topic”, or begin here.", start);
      }
      tellAgreement();
      await countAll(cards, view);
    } catch (error) {
      board.replaceChildren();
      showError(notice, error, () => show(store));
    }
  }

  /** Count all topics in one pass, which can be stopped; by itself what cannot be counted, so that its card says why. */
  async function countAll(cards, view) {
    leave();
    if (!cards.length) return;
    const mine = (running = new AbortController());
    const bar = byId("counting-progress");
    bar.removeAttribute("value");
    byId("counting-text").textContent = "Counting …";
    byId("counting").hidden = false;
    try {
      let found = [];
      for await (const line of askLines(`counts/progress?${new URLSearchParams(view)}`, { signal: mine.signal })) {
        if (line.error) throw new ServiceError(500, line.error.code, line.error.message);
        if (line.counts) found = line.counts.topics;
        const { done = 0, of = null } = line.progress ?? {};
        if (!of) continue;
        Object.assign(bar, { max: of, value: done });
        byId("counting-text").textContent = `Counting: ${counted(done)} of ${documents(of)} looked at`;
      }
      const counts = new Map(found.map((one) => [one.topic, one]));
      for (const card of cards) {
        const own = counts.get(card.getAttribute("aria-label"));
        if (own) card.showCounts(own);
        else if (card.isConnected) await card.count();
      }
    } catch (error) {
      const stopped = error.name === "AbortError";
      for (const card of cards) card.uncounted(stopped ? "Not counted." : inWords(error).text);
      const again = () => {
        notice.hidden = true;
        countAll(cards, view);
      };
      if (!stopped) showError(notice, error, again);
      else if (mine === running) showNotice(notice, "Stopped", "The topics are not counted.", element("button", { type: "button", click: again }, "Count"));
    } finally {
      if (mine === running) byId("counting").hidden = true;
    }
  }

  /** How far readers agree, on the cards of their topics. */
  async function tellAgreement() {
    const found = await ask("agreement").catch(() => ({ topics: [] }));
    const readers = new Map(found.topics.map((one) => [one.topic, one]));
    for (const card of board.children) card.tellReaders?.(readers.get(card.getAttribute("aria-label")));
  }

  /** End what is counted: nobody waits for it. */
  function leave() {
    running.abort();
  }

  /** Offer to count by the fields of the store. */
  function offerFields(names) {
    const chosen = by.value;
    by.replaceChildren(...["week", "day", "month", "document", ...names].map((name) => element("option", { value: name }, name === "document" ? documentWord() : name)));
    by.value = [...by.options].some((one) => one.value === chosen) ? chosen : "week";
    const each = within.value;
    within.replaceChildren(element("option", { value: "" }, "–"), ...names.map((name) => element("option", { value: name }, name)));
    within.value = names.includes(each) ? each : "";
  }

  return { show, leave };
}
