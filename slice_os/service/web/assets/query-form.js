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

function submitOnEnter(event) {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

function wordings(list, name, example) {
  function renumber() {
    [...list.querySelectorAll("textarea")].forEach((input, index) => {
      input.setAttribute("aria-label", `${name} ${index + 1}`);
      input.nextElementSibling.setAttribute("aria-label", `Remove ${name.toLowerCase()} ${index + 1}`);
    });
  }

  function add(text) {
    const input = element("textarea", { rows: 1, maxlength: 1000, dir: "auto", enterkeyhint: "search", placeholder: list.children.length ? "" : example, keydown: submitOnEnter });
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
    first: () => list.querySelector("textarea"),
    read: () => [...list.querySelectorAll("textarea")]
      .map((input) => input.value.replace(/\s+/g, " ").trim()).filter(Boolean),
    fill(texts) {
      list.replaceChildren();
      texts.forEach(add);
    },
  };
}
