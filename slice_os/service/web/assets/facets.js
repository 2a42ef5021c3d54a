/** Facets: values of metadata fields to search within, with how many of the hits have each. */

import { byId, counted, element, isolated } from "./dom.js";
import { ask } from "./service.js";
import { documents } from "./unit.js";

const FIRST = 8;
const MOST = 100;
const SPEAKER = "speaker";
const MOST_VOICES = 4;
const DATE = "date";
// Times within a conversation: nobody looks for hits by these.
const TIMES = ["start_time", "end_time"];

/**
 * @param {HTMLElement} root
 * @param {(where: Object<string, any>) => void} changed
 */
export function facetPanel(root, changed) {
  const clear = byId("clear-filters");
  let where = {};
  let again = () => {};
  /** @type {{field: string, value: string, count: HTMLElement}[]} */
  let counts = [];

  function allow(field, condition) {
    const others = Object.entries(where).filter(([name]) => name !== field);
    where = Object.fromEntries(condition === null ? others : [...others, [field, condition]]);
    clear.hidden = !Object.keys(where).length;
    changed(where);
  }

  clear.addEventListener("click", () => {
    where = {};
    clear.hidden = true;
    again();
    changed(where);
  });

  function listed(store, field, values, limit) {
    const chosen = chosenOf(where[field]);
    const boxes = values.map(({ value, documents: number }) => {
      const count = element("span", { class: "count" });
      counts.push({ field, value: String(value), count });
      const box = element("input", { type: "checkbox", value: String(value), checked: chosen.includes(String(value)) });
      return element(
        "label",
        { class: "check", title: documents(number) },
        box, element("span", { class: "name" }, isolated(String(value))), count,
      );
    });
    const more = values.length === limit && limit < MOST
      ? element("button", { class: "link", type: "button", click: () => fill(store, field, group, MOST) }, "more")
      : null;
    const group = element(
      "fieldset",
      { change: () => {
        const ticked = [...group.querySelectorAll("input:checked")].map((box) => box.value);
        allow(field, ticked.length ? ticked : null);
      } },
      element("legend", {}, isolated(field)), ...boxes, more,
    );
    return group;
  }

  async function fill(store, field, place, limit) {
    const path = `stores/${encodeURIComponent(store)}/fields/${encodeURIComponent(field)}?limit=${limit}`;
    const { values } = await ask(path);
    if (values.length) place.replaceWith(listed(store, field, values, limit));
    else place.remove();
  }

  /** Who says it: a switch. */
  async function voices(store) {
    const { values } = await ask(`stores/${encodeURIComponent(store)}/fields/${SPEAKER}?limit=${MOST_VOICES + 1}`);
    if (values.length < 2 || values.length > MOST_VOICES) return false;
    const chosen = String(where[SPEAKER] ?? "");
    const one = (value, name) => element("label", {}, element("input", { type: "radio", name: SPEAKER, value, checked: value === chosen }), element("span", {}, name));
    byId("voices").replaceChildren(
      element("legend", {}, "Said by"),
      element("div", { class: "switch" }, one("", "anyone"), ...values.map(({ value }) => one(value, isolated(value)))),
    );
    return true;
  }

  byId("voices").addEventListener("change", (event) => allow(SPEAKER, event.target.value || null));

  function between(field, kind) {
    const given = where[field] ?? {};
    const edge = (name, operator) =>
      element("label", {}, `${name} `, element("input", { type: kind, step: kind === "number" ? "any" : null, value: given[operator] ?? "", "data-operator": operator }));
    const group = element(
      "fieldset",
      { change: () => {
        const edges = [...group.querySelectorAll("input")].filter((input) => input.value !== "");
        const condition = Object.fromEntries(
          edges.map((input) => [input.dataset.operator, kind === "number" ? input.valueAsNumber : input.value]),
        );
        allow(field, edges.length ? condition : null);
      } },
      element("legend", {}, isolated(field)),
      element("div", { class: kind === "date" ? "dates" : "pair" }, edge("from", "gte"), edge("to", "lte")),
    );
    return group;
  }

  return {
    /** Show the fields of a store; a field that cannot be listed is left out. */
    async show(store, fields, chosen) {
      where = chosen;
      again = () => this.show(store, fields, where);
      clear.hidden = !Object.keys(where).length;
      counts = [];
      const switched = SPEAKER in fields && await voices(store).catch(() => false);
      byId("voices").hidden = !switched;
      const names = Object.keys(fields).filter((field) => !(TIMES.includes(field) || (switched && field === SPEAKER)));
      names.sort((one, other) => Number(other === DATE) - Number(one === DATE));
      const kindOf = (field) => (field === DATE ? "date" : fields[field]);
      const places = names.map((field) =>
        kindOf(field) === "text" ? element("fieldset", { hidden: true }) : between(field, kindOf(field)));
      root.replaceChildren(...places);
      byId("filters").hidden = !names.length;
      await Promise.all(names.map(async (field, index) => {
        if (kindOf(field) !== "text") return;
        await fill(store, field, places[index], FIRST).catch(() => places[index].remove());
      }));
    },
    /** Search within values of a field only; null for all. */
    allow(field, condition) {
      allow(field, condition);
      again();
    },
    /** Count hits beside each value. */
    count(hits) {
      const found = new Map();
      for (const { metadata } of hits) {
        for (const [field, value] of Object.entries(metadata)) {
          for (const one of [value].flat()) {
            const key = `${field}\n${one}`;
            found.set(key, (found.get(key) ?? 0) + 1);
          }
        }
      }
      for (const { field, value, count } of counts) {
        const number = found.get(`${field}\n${value}`) ?? 0;
        const text = number ? counted(number) : "";
        if (count.textContent !== text) count.textContent = text;
      }
    },
  };
}

function chosenOf(condition) {
  if (condition === undefined || (typeof condition === "object" && !Array.isArray(condition))) return [];
  return [condition].flat().map(String);
}
