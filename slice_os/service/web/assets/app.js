/** The page: what is shown, and the address that says so. */

import { fromFragment, toFragment } from "./address.js";
import { TOPIC } from "./asked.js";
import { keyDialog } from "./dialogs.js";
import { byId, element, isolated } from "./dom.js";
import { shortcuts } from "./keyboard.js";
import { sentence, showError, showNotice, toast } from "./notices.js";
import { narrow } from "./reader-pane.js";
import { cutOf } from "./scores.js";
import { matchesView } from "./matches-view.js";
import { matrixView } from "./matrix-view.js";
import { isRule } from "./rules.js";
import { searchView } from "./search-view.js";
import { ask, whenKeyNeeded } from "./service.js";
import { themeButton } from "./theme-button.js";
import { topicBoard } from "./topic-board.js";
import { topicForm } from "./topic-form.js";
import { callDocuments, documentsBy } from "./unit.js";

let view = fromFragment(location.hash);
/** @type {any[]} */
let stores = [];
let unavailable = [];

whenKeyNeeded(keyDialog());
themeButton(byId("theme"));
const form = topicForm();
const search = searchView(() => view, change, form, listTopics);
const matches = matchesView(() => view, search.reader);
const matrix = matrixView(() => view, search.reader);
const board = topicBoard(form, { search: searchTopic, match: showMatches, changed: listTopics });

/** Change the view; a pushed one can be gone back from. */
function change(changes, pushed = false) {
  view = Object.assign(view, changes);
  const address = toFragment(view);
  if (address === location.hash) return;
  if (pushed) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function storeOf(name) {
  return stores.find((store) => store.name === name) ?? stores[0];
}

async function show() {
  const store = storeOf(view.store);
  const onTopics = view.page === "topics";
  byId("search-view").hidden = onTopics;
  byId("search-view").classList.toggle("of-matches", besideReader());
  for (const page of ["matches", "matrix"]) byId(page).hidden = view.page !== page;
  byId("topics-view").hidden = !onTopics;
  for (const page of ["search", "topics"]) {
    byId(`to-${page}`).setAttribute("aria-current", view.page === page ? "page" : "false");
  }
  const titles = { topics: "Topics", matches: view.topic, matrix: view.topic ? `Without ${view.topic}` : documentsBy("topics"), search: view.phrases[0] };
  document.title = [titles[view.page], "SLICE-OS"].filter(Boolean).join(" – ");
  if (!store) {
    showNotice(byId("notice"), "No store is served", "Start the service with one: slice-os serve STORE. Make it with slice-os ingest FILES --store STORE.");
    return;
  }
  if (view.store && view.store !== store.name) toast(`There is no store ${view.store}: this is ${store.name}.`, true);
  view.store = store.name;
  callDocuments(store.unit);
  byId("store").value = store.name;
  board.leave();
  matrix.leave();
  if (view.page === "search" && !offered(view.topic)) await listTopics();
  byId("topic").value = view.topic;
  if (onTopics) await board.show(store);
  else if (view.page === "matches") await matches.open();
  else if (view.page === "matrix") await matrix.open();
  else await search.open(store);
}

/** Whether a list of its own stands beside the reader, in place of the search. */
function besideReader() {
  return view.page === "matches" || view.page === "matrix";
}

/** Offer the topics to answer for; a chosen one that is gone is none. */
async function listTopics() {
  const found = await ask("topics").catch(() => null);
  if (!found) return;
  const names = found.topics.filter((topic) => !isRule(topic)).map(({ name }) => name);
  byId("topic").replaceChildren(...["", ...names].map((name) => element("option", { value: name }, name || "none")));
  if (view.page === "search" && !offered(view.topic)) {
    toast(`There is no topic ${view.topic}${view.most === TOPIC ? ": these are hits of its phrases" : ""}.`, true);
    change({ topic: "", ...(view.most === TOPIC && { most: "every" }) });
  }
  byId("topic").value = view.topic;
}

/** Whether a topic was there when they were last listed. */
function offered(topic) {
  return [...byId("topic").options].some(({ value }) => value === topic);
}

function showMatches(changes) {
  change({ page: "matches", topic: "", open: null, ...changes }, true);
  show();
}

function searchTopic(topic, where = {}) {
  change({
    page: "search",
    phrases: [...(topic.phrases ?? []), ...(topic.learned?.phrases ?? [])],
    counters: [...(topic.counter_phrases ?? []), ...(topic.learned?.counter_phrases ?? [])],
    where,
    unit: topic.unit || "span",
    verify: true,
    ...(cutOf(topic) ?? { measure: "probability", least: null }),
    most: TOPIC,
    order: "unsure",
    topic: topic.name,
    open: null,
  }, true);
  show();
}

async function start() {
  try {
    let work;
    ({ stores, unavailable, work } = await ask("stores"));
    byId("work").replaceChildren(isolated(work));
    if (unavailable.length && !stores.length) throw new Error(unavailable[0].reason);
  } catch (error) {
    showError(byId("notice"), error, start);
    busy(false);
    return;
  }
  byId("notice").hidden = true;
  byId("store").replaceChildren(
    ...stores.map(({ name }) => element("option", { value: name }, name)),
    ...unavailable.map(({ name }) => element("option", { disabled: true }, `${name} (does not answer)`)),
  );
  byId("store").disabled = stores.length < 2;
  if (unavailable.length) toast(unavailable.map(({ name, reason }) => `${name}: ${sentence(reason)}`).join(" "), true);
  await listTopics();
  const shown = show();
  busy(false);
  await shown;
}

/** Say whether the fields are still being filled. */
function busy(is) {
  byId("page").setAttribute("aria-busy", is);
}

byId("store").addEventListener("change", () => {
  change({ store: byId("store").value, where: {}, open: null }, true);
  show();
});
for (const page of ["search", "topics"]) {
  byId(`to-${page}`).addEventListener("click", (event) => {
    event.preventDefault();
    change({ page, open: null, ...(besideReader() && { topic: "" }) }, true);
    show();
  });
}
byId("filters").open = !narrow();
byId("skip").addEventListener("click", () => byId("results").focus());
byId("show-help").addEventListener("click", () => byId("help").showModal());
addEventListener("popstate", () => {
  view = fromFragment(location.hash);
  show();
});
shortcuts({
  ...Object.fromEntries(Object.entries(search.keys).map(([key, deed]) => [key, () => view.page === "search" && deed()])),
  Escape: () => search.reader.close(),
  "?": () => byId("help").showModal(),
});
start();
