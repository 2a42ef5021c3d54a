/** The window that makes and changes a rule, out of topics. */

import { byId, counted, element } from "./dom.js";
import { inWords } from "./notices.js";
import { partFields } from "./rule-part.js";
import { KINDS, isRule, listsOf, partsOf } from "./rules.js";
import { ask } from "./service.js";
import { save } from "./topic-form.js";
import { documentWord } from "./unit.js";

const MOST_SPEAKERS = 20;

/** @returns {(given: any, isNew: boolean, topics: any[], store: any) => Promise<any>} resolves to
 *   the saved rule, or to null if the person changed their mind */
export function ruleForm() {
  const dialog = byId("rule-dialog");
  const list = byId("rule-parts");
  /** @type {ReturnType<typeof partFields>[]} */
  let parts = [];
  let names = [];
  let given = {};
  let former = null;
  let saved = null;
  let store = "";

  function add(part) {
    const made = partFields(part, names);
    parts.push(made);
    list.append(made.element);
    return made.element;
  }

  /** @returns {Object<string, any>} */
  function read() {
    const { all: _, any: __, none: ___, per: ____, ...kept } = given;
    const per = byId("rule-per").value;
    return {
      ...kept, name: byId("rule-name").value.trim(), description: byId("rule-description").value.trim(),
      ...(per !== "document" && { per }),
      ...listsOf(parts.filter((part) => part.element.isConnected).map((part) => part.read())),
    };
  }

  async function tried(deed) {
    byId("rule-error").textContent = byId("rule-tried").textContent = "";
    try {
      await deed();
    } catch (error) {
      byId("rule-tried").textContent = "";
      byId("rule-error").textContent = inWords(error).text;
    }
  }

  byId("rule-add").addEventListener("click", () => add({ kind: "all", topic: names[0] }).querySelector("select").focus());
  byId("rule-cancel").addEventListener("click", () => dialog.close());
  byId("rule-try").addEventListener("click", () => tried(async () => {
    byId("rule-tried").textContent = "Reading the whole store …";
    const { etag: _, ...rule } = read();
    const { total } = await ask("match", { body: { store, rule: { ...rule, name: rule.name || "rule" }, limit: 1 } });
    byId("rule-tried").textContent = `${counted(total)} ${total === 1 ? "match" : "matches"}`;
  }));
  byId("rule-form").addEventListener("submit", (event) => {
    event.preventDefault();
    tried(async () => {
      saved = await save(read(), former);
      dialog.close();
    });
  });

  async function listSpeakers({ name, fields = {} }) {
    const found = "speaker" in fields
      ? await ask(`stores/${encodeURIComponent(name)}/fields/speaker?limit=${MOST_SPEAKERS}`).catch(() => null)
      : null;
    byId("rule-speakers").replaceChildren(...(found?.values ?? []).map(({ value }) => element("option", { value })));
  }

  return (topic, isNew, topics, opened) => {
    given = topic;
    former = isNew ? null : topic;
    saved = null;
    store = opened.name;
    names = topics.filter((one) => !isRule(one)).map(({ name }) => name);
    parts = [];
    list.replaceChildren();
    byId("rule-title").textContent = isNew ? "New rule" : `Change ${topic.name}`;
    byId("rule-name").value = topic.name ?? "";
    byId("rule-description").value = topic.description ?? "";
    const fields = Object.keys(opened.fields ?? {});
    const shared = Object.fromEntries([...new Set([...fields, topic.per ?? "document"])].map((name) => [name, `set of ${documentWord(true)} with one ${name}`]));
    byId("rule-per").replaceChildren(...Object.entries({ ...shared, document: documentWord(), turn: "turn" }).reverse().map(([value, text]) => element("option", { value }, text)));
    byId("rule-per").value = topic.per ?? "document";
    byId("rule-error").textContent = byId("rule-tried").textContent = "";
    for (const part of partsOf(topic)) add(part);
    if (!parts.length) add({ kind: Object.keys(KINDS)[0], topic: names[0] });
    listSpeakers(opened);
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => resolve(saved), { once: true });
    });
  };
}
