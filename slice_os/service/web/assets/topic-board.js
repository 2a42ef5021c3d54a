/** The board of all topics. */

import { sure } from "./dialogs.js";
import { byId, element, isolated } from "./dom.js";
import { sentence, showError, showNotice, toast, toastError } from "./notices.js";
import { ask } from "./service.js";
import { saveCounts } from "./table-file.js";
import { topicCard } from "./topic-card.js";
import { quoted, topicPath } from "./topic-form.js";

/**
 * @param {ReturnType<import("./topic-form.js").topicForm>} form
 * @param {{search: (topic: any) => void, changed: () => void}} told
 */
export function topicBoard(form, told) {
  const by = byId("counts-by");
  const board = byId("board");
  const notice = byId("board-notice");
  let store = "";

  byId("new-topic").addEventListener("click", async () => {
    if (await form.make({ phrases: [] })) await again();
  });
  by.addEventListener("change", () => show(store));
  byId("save-counts").addEventListener("click", () => saveCounts({ store, by: by.value }).catch(toastError));

  async function again() {
    told.changed();
    await show(store);
  }

  async function edit(topic) {
    const saved = await form.change(topic);
    if (!saved) return;
    toast(`${topic.name} saved`);
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

  async function show(name) {
    store = name;
    notice.hidden = true;
    try {
      const { topics, problems = [] } = await ask("topics");
      const view = { store, by: by.value };
      const cards = topics.map((topic) => topicCard(topic, view, { search: told.search, edit, drop, changed: again }));
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

  /** Count all topics in one pass; if one of them does not fit the store, each by itself. */
  async function countAll(cards, view) {
    if (!cards.length) return;
    let found;
    try {
      found = (await ask(`counts?${new URLSearchParams(view)}`)).topics;
    } catch {
      for (const card of cards) if (card.isConnected) await card.count();
      return;
    }
    const counts = new Map(found.map((one) => [one.topic, one]));
    for (const card of cards) card.showCounts(counts.get(card.getAttribute("aria-label")) ?? { documents: 0, total: 0, of: null, counts: [] });
  }

  return {
    show,
    /** Offer to count by the fields of a store. */
    fields(names) {
      const chosen = by.value;
      by.replaceChildren(...["week", "day", "document", ...names].map((name) => element("option", { value: name }, name)));
      by.value = [...by.options].some((one) => one.value === chosen) ? chosen : "week";
    },
  };
}
