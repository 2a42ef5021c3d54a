/** The window that makes and changes a topic. */

import { byId } from "./dom.js";
import { ask } from "./service.js";
import { inWords } from "./notices.js";

const LISTS = {
  "topic-phrases": "phrases",
  "topic-counters": "counter_phrases",
  "topic-must": "must_match",
  "topic-must-not": "must_not_match",
};
const CUTS = ["threshold", "min_probability", "precision"];

/** @returns {{make: (draft: any) => Promise<any>, change: (topic: any) => Promise<any>}} each
 *   resolves to the saved topic, or to null if the person changed their mind */
export function topicForm() {
  const dialog = byId("topic-dialog");
  let topic = null;
  let isNew = true;
  let saved = null;
  byId("topic-cancel").addEventListener("click", () => dialog.close());
  byId("topic-cut").addEventListener("change", () => {
    byId("topic-least").disabled = !byId("topic-cut").value;
  });
  byId("topic-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      saved = await save(read(topic), isNew ? null : topic);
      dialog.close();
    } catch (error) {
      byId("topic-error").textContent = inWords(error).text;
    }
  });

  function open(title, given, fresh) {
    topic = given;
    isNew = fresh;
    saved = null;
    byId("topic-title").textContent = title;
    byId("topic-name").value = given.name ?? "";
    byId("topic-description").value = given.description ?? "";
    for (const [id, name] of Object.entries(LISTS)) byId(id).value = (given[name] ?? []).join("\n");
    const cut = CUTS.find((name) => typeof given[name] === "number") ?? "";
    byId("topic-cut").value = cut;
    byId("topic-least").value = cut ? given[cut] : "";
    byId("topic-least").disabled = !cut;
    const where = Object.keys(given.where ?? {}).length > 0;
    byId("topic-where").hidden = !where;
    byId("topic-where").textContent = where ? `Only where ${JSON.stringify(given.where)}` : "";
    byId("topic-error").textContent = "";
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => resolve(saved), { once: true });
    });
  }

  return {
    make: (draft) => open("New topic", draft, true),
    change: (given) => open(`Change ${given.name}`, given, false),
  };
}

/** Save a topic: a new one, or a changed or renamed one in place of what was read. */
export function save(topic, former) {
  const { etag: _, ...body } = topic;
  if (former === null) return ask("topics", { body });
  return ask(topicPath(former.name), { method: "PUT", body, headers: { "If-Match": quoted(former.etag) } });
}

export function topicPath(name) {
  return `topics/${encodeURIComponent(name)}`;
}

/** An entity tag as HTTP has it. */
export function quoted(etag) {
  return etag.startsWith('"') ? etag : `"${etag}"`;
}

/** A name for a topic from a phrase. */
export function nameFrom(phrase) {
  return phrase.replace(/[^A-Za-z0-9À-ÖØ-öø-ɏ]+/g, " ").trim().slice(0, 60).trim() || "topic";
}

function read(topic) {
  const given = { ...topic, name: byId("topic-name").value.trim(), description: byId("topic-description").value.trim() };
  for (const [id, name] of Object.entries(LISTS)) {
    given[name] = byId(id).value.split("\n").map((line) => line.trim()).filter(Boolean);
  }
  for (const name of CUTS) delete given[name];
  const cut = byId("topic-cut").value;
  if (cut) given[cut] = byId("topic-least").valueAsNumber;
  return given;
}
