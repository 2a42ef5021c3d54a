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
  const book = labelBook(() => store);
  let waiting = [];
  let sampled = 0;
  let busy = false;
  let topic = null;
  let store = "";

  /** One thing at a time; what goes wrong is said, and nothing is lost. */
  async function doing(deed) {
    if (busy) return;
    busy = true;
    byId("estimate-error").textContent = "";
    try {
      await deed();
    } catch (error) {
      byId("estimate-error").textContent = inWords(error).text;
    }
    busy = false;
  }

  async function draw() {
    place.replaceChildren(element("p", { class: "soft" }, "Drawing a sample of the whole store …"));
    bar.removeAttribute("value");
    answers(false);
    const found = await ask(`${topicPath(topic.name)}/estimate`, { body: { store } });
    ({ hits: waiting, sampled } = found);
    if (found.estimate) place.replaceChildren(...estimateInWords(found));
    show();
  }

  function answers(shown) {
    byId("estimate-answers").hidden = !shown;
  }

  function show() {
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

  const answer = (right) => doing(async () => {
    if (!waiting.length) return;
    await book.give([waiting[0]], right);
    waiting.shift();
    if (waiting.length) show();
    else await draw();
  });
  const undo = () => doing(async () => {
    const hit = await book.undo();
    if (!hit) return;
    waiting.unshift(hit);
    show();
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
    [topic, store, waiting, sampled] = [given, opened, [], 0];
    byId("estimate-title").replaceChildren("Does it say ", isolated(topic.name), "?");
    byId("estimate-topic").replaceChildren(...topic.phrases.slice(0, 4).map((phrase) => element("li", {}, isolated(phrase))));
    byId("estimate-done").textContent = "";
    dialog.showModal();
    doing(async () => {
      await book.open(topic.name);
      await draw();
    });
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => resolve(), { once: true });
    });
  };
}
