/** Questions in windows: a key, and whether somebody is sure. */

import { byId } from "./dom.js";

/** Ask for an API key; null if the person has none. Questions at one time are one question. */
export function keyDialog() {
  const dialog = byId("key-dialog");
  let asked = null;
  byId("key-cancel").addEventListener("click", () => dialog.close(""));
  byId("key-form").addEventListener("submit", () => { dialog.returnValue = "given"; });

  return (refused) => {
    asked ??= new Promise((resolve) => {
      byId("key").value = "";
      byId("key-error").textContent = refused ? "The service refused that key." : "";
      dialog.returnValue = "";
      dialog.showModal();
      dialog.addEventListener("close", () => {
        asked = null;
        resolve(dialog.returnValue === "given" ? byId("key").value.trim() : null);
      }, { once: true });
    });
    return asked;
  };
}

/** Whether a person is sure. */
export function sure(question) {
  const dialog = byId("sure");
  byId("sure-text").textContent = question;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
