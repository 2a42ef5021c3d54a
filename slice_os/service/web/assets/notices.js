/** What the page says outside of results: errors in words, toasts, and the status for ears. */

import { byId, element } from "./dom.js";

const ADVICE = {
  0: ["The service does not answer", ""],
  401: ["A key is needed", "Ask whoever runs the service for a key."],
  403: ["This key is not enough", ""],
  404: ["Not there", ""],
  409: ["Somebody was faster", "Load it again, then repeat your change."],
  412: ["Somebody was faster", "Load it again, then repeat your change."],
  413: ["That is too much at once", ""],
  429: ["The service is busy", "Others are asking, too."],
  503: ["The store cannot be reached", "The index behind it may be starting."],
  504: ["That took too long", "Ask for fewer hits, or narrow the query."],
};

/** Title and advice for an error. */
export function inWords(error) {
  const [title, advice] = ADVICE[error.status] ?? ["That did not work", ""];
  return { title, text: [error.message && sentence(error.message), advice].filter(Boolean).join(" ") };
}

/** A message of the service, which has no full stop, as a sentence. */
export function sentence(message) {
  return /[.!?…]$/.test(message) ? message : `${message}.`;
}

/**
 * Show a state in place of results.
 *
 * @param {HTMLElement} place
 * @param {string} title
 * @param {string} text
 * @param {...Node} actions
 */
export function showNotice(place, title, text, ...actions) {
  place.replaceChildren(
    element("h2", {}, title),
    element("p", {}, text),
    actions.length ? element("div", { class: "actions" }, ...actions) : "",
  );
  place.hidden = false;
}

/** Show an error with a button that tries again, from when the service wants it. */
export function showError(place, error, again) {
  const { title, text } = inWords(error);
  const button = element("button", { class: "main", type: "button", click: again }, "Try again");
  showNotice(place, title, text, button);
  tell(`${title}. ${text}`);
  let left = error.retryAfter;
  if (!left) return;
  button.disabled = true;
  const tick = () => {
    button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
    button.disabled = left > 0;
    left -= 1;
    if (left >= 0 && button.isConnected) setTimeout(tick, 1000);
  };
  tick();
}

/** Tell screen readers. */
export function tell(text) {
  byId("status").textContent = text;
}

/** A short message at the bottom, which goes by itself. */
export function toast(text, wrong = false) {
  const one = element("p", { class: wrong ? "toast wrong" : "toast" }, text);
  byId("toasts").append(one);
  tell(text);
  setTimeout(() => one.remove(), wrong ? 8000 : 3000);
}

/** Show an error as a toast. */
export function toastError(error) {
  const { title, text } = inWords(error);
  toast(`${title}: ${text}`, true);
}
