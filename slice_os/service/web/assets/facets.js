/** Facets: values of metadata fields to search within, with how many of the hits have each. */

import { byId, counted, element, isolated } from "./dom.js";
import { inWords, toastError } from "./notices.js";
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
  let number = 0;

  function allow(field, condition) {
    const others = Object.entries(where).filter(([name]) => name !== field);
    where = Object.fromEntries(condition === null ? others : [...others, [field, condition]]);
    clear.hidden = !Object.keys(where).length;
    changed(where);
  }

  clear.addEventListener("click", () => {
    where = {};
    // The button goes; who pressed it stays at the filters.
    byId("filters").firstElementChild.focus();
    clear.hidden = true;
    again();
    changed(where);
  });

  function listed(store, field, values, limit) {
    const chosen = chosenOf(where[field]);
    const boxes = values.map(({ value, documents: number }) => {
      const count = element("span", { class: "count" });
      counts.push({ field, value: String(value), count });
      const box = element("input", { type: "checkbox", value: String(value), checked: chosen.includes(String(value).toLowerCase()) });
      return element(
        "label",
        { class: "check", title: documents(number) },
        box, element("span", { class: "name" }, isolated(String(value))), count,
      );
    });
    const rest = values.length === limit && limit < MOST
      ? element("button", { class: "link", type: "button", click: () => more(store, field, group).catch(toastError) }, "more")
      : null;
    const group = element(
      "fieldset",
      { change: () => {
        const ticked = [...group.querySelectorAll("input:checked")].map((box) => box.value);
        allow(field, ticked.length ? ticked : null);
      } },
      element("legend", {}, isolated(field)), ...boxes, rest,
    );
    return group;
  }

  async function more(store, field, place) {
    const path = `stores/${encodeURIComponent(store)}/fields/${encodeURIComponent(field)}?limit=${MOST}`;
    const { values } = await ask(path);
    place.replaceWith(listed(store, field, values, MOST));
  }

  /** Who says it: a switch; null if there are too few or too many for one. */
  function voices(values = []) {
    byId("voices").hidden = values.length < 2 || values.length > MOST_VOICES;
    if (byId("voices").hidden) return false;
    const chosen = String(where[SPEAKER] ?? "").toLowerCase();
    const one = (value, name) => element("label", {}, element("input", { type: "radio", name: SPEAKER, value, checked: value.toLowerCase() === chosen }), element("span", {}, name));
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
    /** Show the fields of a store, or say that their values are missing. */
    async show(store, fields, chosen) {
      where = chosen;
      again = () => this.show(store, fields, where);
      clear.hidden = !Object.keys(where).length;
      counts = [];
      const asked = (number += 1);
      /** @type {Object<string, any[]>} */
      let values = {};
      let missing = null;
      try {
        ({ fields: values } = await ask(`stores/${encodeURIComponent(store)}/fields?limit=${FIRST}`));
      } catch (error) {
        missing = element("p", { class: "wrong" }, `The values of fields are missing: ${inWords(error).text} `, element("button", { class: "link", type: "button", click: again }, "Try again"));
      }
      if (asked !== number) return;
      const switched = voices(values[SPEAKER]);
      const names = Object.keys(fields).filter((field) => !(TIMES.includes(field) || (switched && field === SPEAKER)));
      names.sort((one, other) => Number(other === DATE) - Number(one === DATE));
      const kindOf = (field) => (field === DATE ? "date" : fields[field]);
      const shown = names.filter((field) => kindOf(field) !== "text" || values[field]?.length);
      root.replaceChildren(...(missing ? [missing] : []), ...shown.map((field) =>
        kindOf(field) === "text" ? listed(store, field, values[field], FIRST) : between(field, kindOf(field))));
      byId("filters").hidden = !names.length;
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
            const key = keyOf(field, one);
            found.set(key, (found.get(key) ?? 0) + 1);
          }
        }
      }
      for (const { field, value, count } of counts) {
        const number = found.get(keyOf(field, value)) ?? 0;
        const text = number ? counted(number) : "";
        if (count.textContent !== text) count.textContent = text;
      }
    },
  };
}

/** Values that differ in case alone are one, as in the service's filters. */
function keyOf(field, value) {
  return `${field}\n${String(value).toLowerCase()}`;
}

function chosenOf(condition) {
  if (condition === undefined || (typeof condition === "object" && !Array.isArray(condition))) return [];
  return [condition].flat().map((one) => String(one).toLowerCase());
}
