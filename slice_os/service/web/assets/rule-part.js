/** The fields of one part of a rule. */

import { element } from "./dom.js";
import { KINDS, partInWords } from "./rules.js";
import { documentWord } from "./unit.js";

const ORDERS = ["after", "before", "near"];
const MEASURES = ["seconds", "turns", "sentences", "words"];
const LENGTH = /^(\d+(?:\.\d+)?) +(\w+?)s?$/;

/**
 * @param {import("./rules.js").Part} part
 * @param {string[]} names of topics with phrases
 * @returns {{element: HTMLElement, read: () => import("./rules.js").Part}}
 */
export function partFields(part, names) {
  const known = names.includes(part.topic) || !part.topic ? names : [part.topic, ...names];
  const order = ORDERS.find((name) => part[name]) ?? "";
  const kind = select("It", KINDS, part.kind);
  const topic = select("topic", pairs(known), part.topic);
  const speaker = element("input", { list: "rule-speakers", value: part.speaker ?? "", placeholder: "anyone" });
  const asked = select("as", { "": "anything", true: "a question", false: "no question" }, String(part.asked ?? ""));
  const first = length("In the first", part.first);
  const last = length("In the last", part.last);
  const side = select("place", { "": "anywhere", ...pairs(ORDERS) }, order);
  const other = select("of which topic", pairs(known), part[order]);
  const within = length("Within", part.within);
  const times = element("input", { type: "number", min: 1, value: part.times ?? 1 });
  const documents = element("input", { type: "number", min: 1, value: part.documents ?? 1 });
  const told = element("summary");

  function read() {
    const beside = side.value && { [side.value]: other.value, within: within.read() };
    const given = {
      kind: kind.value, topic: topic.value, speaker: speaker.value.trim(),
      asked: asked.value && asked.value === "true", first: first.read(), last: last.read(), ...beside,
      times: times.valueAsNumber, documents: documents.valueAsNumber,
    };
    return /** @type {any} */ (Object.fromEntries(Object.entries(given).filter(([key, value]) =>
      key === "times" || key === "documents" ? value > 1 : value || (key === "asked" && value === false))));
  }

  function tell() {
    other.hidden = within.element.hidden = !side.value;
    const words = partInWords(read()).split(", ").slice(1).join(", ");
    told.textContent = words || "anywhere, by anyone";
  }

  const item = element(
    "li", { change: tell },
    element("div", { class: "part" }, kind, topic, element("button", { class: "plain", type: "button", "aria-label": "Remove this topic", click: () => item.remove() }, "✕")),
    element(
      "details", {}, told,
      element("div", { class: "needs" },
        labelled("Said by", speaker), labelled("As", asked), first.element, last.element,
        labelled("Where", side, other), within.element,
        labelled("At least", times, "times"), labelled("In at least", documents, documentWord(true))),
    ),
  );
  tell();
  return { element: item, read };
}

function pairs(values) {
  return Object.fromEntries(values.map((value) => [value, value]));
}

/** A choice; one is chosen in any case. */
export function select(name, choices, chosen) {
  const made = element("select", { "aria-label": name }, ...Object.entries(choices).map(([value, text]) => element("option", { value }, text)));
  if (chosen in choices) made.value = chosen;
  return made;
}

function labelled(name, ...fields) {
  return element("label", {}, element("span", {}, name), ...fields);
}

function length(name, given) {
  const [, amount, measure] = LENGTH.exec(given ?? "") ?? [];
  const number = element("input", { type: "number", "aria-label": name, min: 0, step: "any", value: amount ?? "" });
  const unit = select(`${name}: unit`, pairs(MEASURES), measure && `${measure}s`);
  return {
    element: labelled(name, number, unit),
    read: () => (Number.isFinite(number.valueAsNumber) ? `${number.value} ${unit.value}` : ""),
  };
}
