/** The board of all topics. */

import { sure } from "./dialogs.js";
import { byId, element, isolated } from "./dom.js";
import { sentence, showError, showNotice, toast, toastError } from "./notices.js";
import { ask } from "./service.js";
import { isRule } from "./rules.js";
import { usualCut } from "./scores.js";
import { saveCounts } from "./table-file.js";
import { estimateTask } from "./estimate-task.js";
import { ruleForm } from "./rule-form.js";
import { topicCard } from "./topic-card.js";
import { quoted, topicPath } from "./topic-form.js";
import { documentWord } from "./unit.js";

/**
 * @param {ReturnType<import("./topic-form.js").topicForm>} form
 * @param {{search: (topic: any) => void, match: (view: Object) => void, changed: () => void}} told
 */
export function topicBoard(form, told) {
  const by = byId("counts-by");
  const board = byId("board");
  const notice = byId("board-notice");
  const rules = ruleForm();
  const estimate = estimateTask();
  /** @type {any} as the service has it */
  let store = {};
  let topics = [];

  byId("new-topic").addEventListener("click", async () => {
    if (await form.make({ phrases: [] })) await again();
  });
  byId("new-rule").addEventListener("click", async () => {
    if (await rules({}, true, topics, store)) await again();
  });
  by.addEventListener("change", () => show(store));
  byId("save-counts").addEventListener("click", () => saveCounts({ store: store.name, by: by.value }).catch(toastError));

  async function again() {
    told.changed();
    await show(store);
  }

  async function edit(topic) {
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
    try {
      await ask(topicPath(topic.name), { method: "DELETE", headers: { "If-Match": quoted(topic.etag) } });
      await again();
    } catch (error) {
      toastError(error);
    }
  }

  async function show(opened) {
    store = opened;
    offerFields(Object.keys(store.fields ?? {}));
    notice.hidden = true;
    try {
      const found = await ask("topics");
      const { problems = [] } = found;
      ({ topics } = found);
      byId("new-rule").disabled = !topics.some((topic) => !isRule(topic));
      const view = { store: store.name, by: by.value };
      const deeds = { search: told.search, match: told.match, edit, drop, changed: again, estimate: measure };
      const cards = topics.map((topic) => topicCard(topic, { ...view, usual: usualCut(store) }, deeds));
      const broken = problems.map((problem) => element("p", { class: "wrong" }, isolated(sentence(problem))));
      board.replaceChildren(...broken, ...cards);
      if (!topics.length) {
        const start = element("button", { class: "main", type: "button", click: () => byId("new-topic").click() }, "Make a topic");
        showNotice(notice, "No topics yet", "A topic is a set of phrases that mean the same. Search for one and choose “Save as topic”, or begin here.", start);
      }
      await Promise.all([countAll(cards, view), ...cards.map((card) => card.countLabels())]);
    } catch (error) {
      board.replaceChildren();
      showError(notice, error, () => show(store));
    }
  }

  /** Count all topics in one pass, and by itself what cannot be, so that its card says why. */
  async function countAll(cards, view) {
    if (!cards.length) return;
    const { topics: found } = await ask(`counts?${new URLSearchParams(view)}`).catch(() => ({ topics: [] }));
    const counts = new Map(found.map((one) => [one.topic, one]));
    for (const card of cards) {
      const own = counts.get(card.getAttribute("aria-label"));
      if (own) card.showCounts(own);
      else if (card.isConnected) await card.count();
    }
  }

  /** Offer to count by the fields of the store. */
  function offerFields(names) {
    const chosen = by.value;
    by.replaceChildren(...["week", "day", "document", ...names].map((name) => element("option", { value: name }, name === "document" ? documentWord() : name)));
    by.value = [...by.options].some((one) => one.value === chosen) ? chosen : "week";
  }

  return { show };
}
