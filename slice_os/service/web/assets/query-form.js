/** The form of a query: phrases, what they are not, and options. */

import { byId, element } from "./dom.js";

/**
 * @param {HTMLFormElement} form
 * @param {() => void} submitted
 */
export function queryForm(form, submitted) {
  const phrases = wordings(byId("phrases"), "Phrase", "the contract renews by itself");
  const counters = wordings(byId("counters"), "Not", "");
  byId("add-phrase").addEventListener("click", () => phrases.add("").focus());
  byId("add-counter").addEventListener("click", () => counters.add("").focus());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submitted();
  });
  byId("options").addEventListener("change", () => {
    if (phrases.read().length) submitted();
  });

  return {
    read() {
      return {
        phrases: phrases.read(),
        counters: counters.read(),
        most: byId("most").value,
        unit: byId("unit").value,
        verify: byId("verify").checked,
        collapse: byId("collapse").checked,
      };
    },
    /** @param {import("./address.js").View} view */
    fill(view) {
      phrases.fill(view.phrases.length ? view.phrases : [""]);
      counters.fill(view.counters);
      byId("most").value = view.most;
      byId("unit").value = view.unit;
      byId("verify").checked = view.verify;
      byId("collapse").checked = view.collapse;
    },
    focus() {
      phrases.first().focus();
      phrases.first().select();
    },
  };
}

function wordings(list, name, example) {
  function renumber() {
    [...list.querySelectorAll("input")].forEach((input, index) => {
      input.setAttribute("aria-label", `${name} ${index + 1}`);
      input.nextElementSibling.setAttribute("aria-label", `Remove ${name.toLowerCase()} ${index + 1}`);
    });
  }

  function add(text) {
    const input = element("input", { type: "text", maxlength: 1000, dir: "auto", placeholder: list.children.length ? "" : example });
    input.value = text;
    const remove = element("button", { class: "plain", type: "button", click: () => {
      item.remove();
      if (!list.children.length && example) add("").focus();
      renumber();
    } }, "✕");
    const item = element("li", {}, input, remove);
    list.append(item);
    renumber();
    return input;
  }

  return {
    add,
    first: () => list.querySelector("input"),
    read: () => [...list.querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean),
    fill(texts) {
      list.replaceChildren();
      texts.forEach(add);
    },
  };
}
