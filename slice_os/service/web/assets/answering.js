/** Answers to hits of a topic, in the list: accepted, rejected, taken back; and the topic they are for. */

import { TOPIC } from "./asked.js";
import { byId } from "./dom.js";
import { keepReaderName, readerName } from "./labels.js";
import { toast, toastError } from "./notices.js";
import { nameFrom } from "./topic-form.js";

/**
 * @param {() => import("./address.js").View} current
 * @param {(change: Object) => void} change
 * @param {{book: ReturnType<import("./labels.js").labelBook>, list: any, same: any,
 *   topics: ReturnType<import("./topic-form.js").topicForm>}} parts
 * @param {{topicsChanged: () => Promise<void>, answered: () => void, reread: () => Promise<void>,
 *   isVisible: (hit: any) => boolean}} told
 */
export function answering(current, change, { book, list, topics, same }, { topicsChanged, answered, reread, isVisible }) {
  /** Hits whose answers the service has not kept yet: to press again is no other answer. */
  const waiting = new Set();

  /** Whether the service has kept it. */
  async function answer(hit, right) {
    if (waiting.has(hit) || (!current().topic && !await saveTopic())) return false;
    waiting.add(hit);
    const kept = await book.give(same.group(hit), right).then(() => true, toastError);
    waiting.delete(hit);
    list.refresh(hit);
    answered();
    return kept === true;
  }

  async function answerChosen(right) {
    const hit = list.chosen;
    if (!hit) return list.step(0);
    if (await answer(hit, right) && list.chosen === hit) list.step(1);
  }

  async function undo() {
    try {
      const hit = await book.undo();
      if (!hit) return;
      list.refresh(hit);
      answered();
      if (isVisible(hit)) list.choose(hit);
      toast("Answer taken back");
    } catch (error) {
      toastError(error);
    }
  }

  async function saveTopic() {
    const view = current();
    const [first = ""] = view.phrases;
    const cut = view.measure === "cosine" ? "threshold" : "min_probability";
    const saved = await topics.make({
      name: nameFrom(first), phrases: view.phrases, counter_phrases: view.counters,
      ...(view.least !== null && { [cut]: view.least }),
      ...(Object.keys(view.where).length && { where: view.where }),
      ...(view.unit !== "span" && { unit: view.unit }),
    });
    if (!saved) return null;
    toast(`Topic ${saved.name} saved`);
    await topicsChanged();
    await useTopic(saved.name);
    return saved;
  }

  async function useTopic(name) {
    byId("topic").value = name;
    change({ topic: name, ...(current().most === TOPIC && { most: "every" }) });
    byId("most").value = current().most;
    await book.open(name).catch(toastError);
    list.refreshAll();
    answered();
  }

  byId("topic").addEventListener("change", () => useTopic(byId("topic").value));
  byId("reader-name").value = readerName();
  byId("reader-name").addEventListener("change", async () => {
    keepReaderName(byId("reader-name").value);
    await useTopic(current().topic);
    // What others rejected is to be read by a reader with a name.
    if (current().most === TOPIC) await reread();
  });
  byId("save-topic").addEventListener("click", saveTopic);

  return { answer, undo, accept: () => answerChosen(true), reject: () => answerChosen(false) };
}
