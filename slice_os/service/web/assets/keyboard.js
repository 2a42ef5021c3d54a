/** Single keys as shortcuts; people who dictate can turn them off. */

import { byId } from "./dom.js";

const STORED = "slice-os-keys";
const STEPS = ["j", "k"];

/** @param {Object<string, () => void>} deeds by key */
export function shortcuts(deeds) {
  const on = byId("keys-on");
  on.checked = localStorage.getItem(STORED) !== "off";
  on.addEventListener("change", () => localStorage.setItem(STORED, on.checked ? "on" : "off"));

  document.addEventListener("keydown", (/** @type {KeyboardEvent & {target: HTMLElement}} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest("textarea, select, input:not([type=range], [type=checkbox], [type=radio])");
    if (event.key === "Escape") {
      if (typing) event.target.blur();
    } else if (typing || !on.checked) return;
    const deed = deeds[event.key];
    if (!deed) return;
    event.preventDefault();
    // A key that is held goes through hits, but answers only one.
    if (!event.repeat || STEPS.includes(event.key)) deed();
  });
}
