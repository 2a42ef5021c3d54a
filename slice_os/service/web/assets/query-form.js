/** The form of a query: phrases, what they are not, and options. */

import { TOPIC } from "./asked.js";
import { byId, element } from "./dom.js";
import { offers } from "./wordings.js";

/**
 * @param {HTMLFormElement} form
 * @param {() => void} submitted
 * @param {(phrases: string[]) => Promise<string[]>} near finds whole turns near to phrases
 */
export function queryForm(form, submitted, near) {
  const phrases = wordings(byId("phrases"), "Phrase", "as somebody might say it");
  const counters = wordings(byId("counters"), "Not", "");
  byId("add-phrase").addEventListener("click", offer);
  byId("add-counter").addEventListener("click", () => counters.add("").focus());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submitted();
  });
  byId("options").addEventListener("change", () => {
    if (phrases.read().length) submitted();
  });

  /** A field for another wording, and the nearest turns to choose from. */
  async function offer() {
    const given = phrases.read();
    const empty = phrases.last()?.value.trim() === "" ? phrases.last() : phrases.add("");
    empty.focus();
    if (!given.length) return;
    const found = await near(given).catch(() => []);
    byId("offers").replaceChildren(found.length ? offers(found, (wording) => {
      phrases.tidy();
      phrases.add(wording);
    }) : "");
  }

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
      byId("offers").replaceChildren();
      counters.fill(view.counters);
      byId("most").value = view.most;
      // Only the board asks for it: then these phrases are the topic's.
      byId("most").querySelector("[value=topic]").hidden = view.most !== TOPIC;
      byId("unit").value = view.unit;
      byId("verify").checked = view.verify;
      byId("collapse").checked = view.collapse;
    },
    /** Show a phrase of the store as an example. */
    suggest(phrase) {
      if (phrase) phrases.first().placeholder = phrase;
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
      input.parentElement.className = `p${index % 6}`;
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
    last: () => list.lastElementChild?.querySelector("textarea"),
    /** Take out fields with nothing in them. */
    tidy() {
      for (const input of list.querySelectorAll("textarea")) if (!input.value.trim()) input.parentElement.remove();
    },
    read: () => [...list.querySelectorAll("textarea")]
      .map((input) => input.value.replace(/\s+/g, " ").trim()).filter(Boolean),
    fill(texts) {
      list.replaceChildren();
      texts.forEach(add);
    },
  };
}
