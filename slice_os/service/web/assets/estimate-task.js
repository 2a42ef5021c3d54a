/** A short task: label a sample of passages, and see how much a topic finds and misses. */

import { byId, counted, element, isolated } from "./dom.js";
import { estimateInWords } from "./estimate-words.js";
import { fields } from "./hit-row.js";
import { labelBook } from "./labels.js";
import { inWords } from "./notices.js";
import { spanOf } from "./scores.js";
import { ask } from "./service.js";
import { around, dense } from "./text.js";
import { topicPath } from "./topic-form.js";

/** @returns {(topic: any, store: string) => Promise<void>} resolves once the task is closed */
export function estimateTask() {
  const dialog = byId("estimate-dialog");
  const bar = byId("estimate-progress");
  const place = byId("estimate-place");
  /** The task that is open, or was the last. What a former one still waits for shows no more. */
  let task = begun("", "");

  function begun(topic, store) {
    return { topic, store, book: labelBook(() => store), waiting: [], sampled: 0, busy: false };
  }

  /** One thing at a time; what goes wrong is said, and nothing is lost. */
  async function doing(deed) {
    const mine = task;
    if (mine.busy) return;
    mine.busy = true;
    byId("estimate-error").textContent = "";
    try {
      await deed(mine);
    } catch (error) {
      if (mine === task) {
        byId("estimate-error").textContent = inWords(error).text;
        if (!mine.waiting.length) place.replaceChildren();
      }
    }
    mine.busy = false;
  }

  async function draw(mine) {
    clear();
    const found = await ask(`${topicPath(mine.topic)}/estimate`, { body: { store: mine.store } });
    if (mine !== task) return;
    ({ hits: mine.waiting, sampled: mine.sampled } = found);
    if (found.estimate) place.replaceChildren(...estimateInWords(found));
    show();
  }

  function clear() {
    place.replaceChildren(element("p", { class: "soft" }, "Drawing a sample of the whole store …"));
    bar.removeAttribute("value");
    answers(false);
  }

  function answers(shown) {
    byId("estimate-answers").hidden = !shown;
  }

  function show() {
    const { waiting, sampled } = task;
    const done = sampled - waiting.length;
    Object.assign(bar, { max: sampled, value: done });
    byId("estimate-done").textContent = `${counted(done)} of ${counted(sampled)}`;
    const [hit] = waiting;
    answers(Boolean(hit));
    if (!hit) return;
    const [before, words, after] = around(hit.passage, spanOf(hit));
    place.replaceChildren(element("p", { class: "place" }, ...fields(hit.metadata)), element(
      "blockquote", { class: "passage", dir: "auto", tabindex: 0 }, dense(before).trimStart(), element("mark", {}, words), dense(after).trimEnd()));
    place.querySelector("mark").scrollIntoView({ block: "nearest" });
    byId("estimate-yes").focus();
  }

  const answer = (right) => doing(async (mine) => {
    if (!mine.waiting.length) return;
    await mine.book.give([mine.waiting[0]], right);
    mine.waiting.shift();
    if (mine !== task) return;
    if (mine.waiting.length) show();
    else await draw(mine);
  });
  const undo = () => doing(async (mine) => {
    const hit = await mine.book.undo();
    if (!hit) return;
    mine.waiting.unshift(hit);
    if (mine === task) show();
  });

  byId("estimate-yes").addEventListener("click", () => answer(true));
  byId("estimate-no").addEventListener("click", () => answer(false));
  byId("estimate-undo").addEventListener("click", undo);
  byId("estimate-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => {
    const deed = { y: () => answer(true), n: () => answer(false), u: undo }[event.key];
    if (!deed || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    deed();
  });

  return (given, opened) => {
    task = begun(given.name, opened);
    clear();
    byId("estimate-title").replaceChildren("Does it say ", isolated(given.name), "?");
    byId("estimate-topic").replaceChildren(...given.phrases.slice(0, 4).map((phrase) => element("li", {}, isolated(phrase))));
    byId("estimate-done").textContent = "";
    dialog.showModal();
    doing(async (mine) => {
      await mine.book.open(mine.topic);
      if (mine === task) await draw(mine);
    });
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => resolve(), { once: true });
    });
  };
}
