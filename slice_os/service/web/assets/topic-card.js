/** One topic on the board: what it is, how often it occurs, and what can be done with it. */

import { countsChart, countsTable } from "./counts-chart.js";
import { disputeList } from "./disputes.js";
import { counted, element, isolated, plural } from "./dom.js";
import { sampleInWords } from "./estimate-words.js";
import { partInWords, isRule, partsOf, KINDS } from "./rules.js";
import { inWords, toastError } from "./notices.js";
import { cutOf } from "./scores.js";
import { ask } from "./service.js";
import { perHundred } from "./time-chart.js";
import { topicPath } from "./topic-form.js";
import { documents, documentsWithout, haveHits } from "./unit.js";

/**
 * @param {any} topic
 * @param {{store: string, by: string, within?: string, usual: {measure: string, least: number}}} view
 * @param {{search: (topic: any, where?: any) => void, match: (view: Object) => void,
 *   edit: (topic: any, added?: (now: any) => any) => void, drop: (topic: any) => void, estimate: (topic: any) => void,
 *   changed: (topic: any) => void, settled: () => void}} told
 * @returns {HTMLElement}
 */
export function topicCard(topic, view, told) {
  const total = element("p", { class: "total" }, "…");
  const chart = element("div", { class: "chart-place" }, element("p", { class: "soft" }, "Counting …"));
  const sample = element("span", { class: "recall" });
  const labels = element("span", { class: "soft" });
  const readers = element("span", { class: "soft" });
  const outcome = element("div", { class: "outcome", "aria-live": "polite" });
  const path = topicPath(topic.name);
  const rule = isRule(topic);

  const button = (text, deed) => element("button", { type: "button", click: async (/** @type {Event & {target: HTMLButtonElement}} */ event) => {
    event.target.disabled = true;
    try {
      await deed();
    } catch (error) {
      toastError(error);
    } finally {
      event.target.disabled = false;
    }
  } }, text);

  function showCounts(found) {
    const [number, have] = haveHits(found.documents, found.of);
    total.replaceChildren(element("b", {}, number), ` ${rule ? "match" : have}`);
    const rate = found.of ? `, ${perHundred(found.documents, found.of)} per 100` : "";
    labels.textContent = rule ? "" : found.accepted + found.rejected ? `${counted(found.accepted)} accepted, ${counted(found.rejected)} rejected` : "no answers yet";
    sample.textContent = found.estimate ? `${sampleInWords(found.estimate)} · ` : "";
    const totals = rule ? `${counted(found.total)} ${found.total === 1 ? "match" : "matches"}` : plural(found.total, "hit");
    chart.replaceChildren(
      element("p", { class: "soft" }, totals, rate),
      view.within || view.by === "month" ? countsTable(found.counts, view.by, view.within) : countsChart(found.counts, view.by, (where) => (rule ? told.match({ topic: topic.name }) : told.search(topic, where))),
    );
  }

  async function count() {
    const query = new URLSearchParams({ by: view.by, store: view.store, ...(view.within && { within: view.within }) });
    try {
      showCounts(await ask(`${path}/counts?${query}`));
    } catch (error) {
      uncounted(inWords(error).text);
    }
  }

  /** Say that the topic has not been counted, and why. */
  function uncounted(why) {
    total.textContent = "";
    chart.replaceChildren(element("p", { class: "soft" }, why));
  }

  function tellReaders(found) {
    settling.hidden = !found?.disputed;
    readers.textContent = found ? ` · ${agreementInWords(found)}` : "";
  }

  async function test() {
    const { cases } = await ask(`${path}/test`, { method: "POST" });
    const passed = cases.filter((one) => one.passed).length;
    outcome.replaceChildren(
      element("h3", {}, cases.length ? `${passed} of ${cases.length} examples pass` : "No examples yet"),
      element("ul", { class: "plain-list" }, ...cases.map((one) => element(
        "li", {},
        element("span", { class: one.passed ? "right" : "wrong" }, one.passed ? "✓ " : "✕ "),
        isolated(one.text),
        element("span", { class: "soft" }, one.expected ? " must match" : " must not match"),
      ))),
    );
  }

  async function suggest() {
    const { suggestions } = await ask(`${path}/suggest`, { body: { store: view.store } });
    outcome.replaceChildren(
      element("h3", {}, suggestions.length ? "Near misses" : "No near misses"),
      element("ul", { class: "plain-list" }, ...suggestions.map((one) => element(
        "li", {},
        element("q", {}, isolated(one.text)),
        element("span", { class: "soft" }, ` ${documents(one.documents)}, cosine ${one.cosine.toFixed(2)} `),
        button("It is", () => extend("phrases", one.text)),
        button("It is not", () => extend("counter_phrases", one.text)),
      ))),
    );
  }

  function extend(list, text) {
    told.edit(topic, (now) => ({ ...now, [list]: [...(now[list] ?? []), text] }));
  }

  async function learn() {
    const learned = await ask(`${path}/learn`, { body: { store: view.store } });
    await told.changed();
    const place = document.querySelector(`.card[aria-label="${CSS.escape(topic.name)}"] .outcome`);
    place?.replaceChildren(...difference(learned));
  }

  const settling = button("Settle", async () => outcome.replaceChildren(...await disputeList(topic.name, told.settled)));
  settling.hidden = true;
  const card = element(
    "article",
    { class: "card", "aria-label": topic.name },
    element("header", {}, element("h2", {}, isolated(topic.name)), total),
    topic.description ? element("p", { dir: "auto" }, topic.description) : null,
    chart,
    rule ? ruleInWords(topic) : element("ul", { class: "phrases" }, ...topic.phrases.map((phrase) => element("li", {}, isolated(phrase))),
      ...(topic.counter_phrases ?? []).map((phrase) => element("li", { class: "not" }, element("span", { class: "soft" }, "not "), isolated(phrase)))),
    rule ? null : element("p", {}, element("span", { class: "soft" }, `${cutInWords(topic, view.usual)} · `), sample, labels, readers),
    element(
      "div", { class: "deeds" },
      ...(rule ? [
        button("Show matches", () => told.match({ topic: topic.name })),
        button("Test", test),
      ] : [
        button("Show hits", () => told.search(topic)),
        button(documentsWithout(), () => told.match({ page: "matrix", topic: topic.name })),
        button("What is missed?", () => told.estimate(topic)),
        button("Test", test),
        button("Near misses", suggest),
        button("Learn", learn),
        settling,
      ]),
      button("Edit", () => told.edit(topic)),
      button("Delete", () => told.drop(topic)),
    ),
    outcome,
  );
  return Object.assign(card, { count, showCounts, uncounted, tellReaders });
}

/** What a rule asks for, as a list. */
export function ruleInWords(topic) {
  return element("ul", { class: "phrases" }, ...partsOf(topic).map((part) =>
    element("li", { class: part.kind === "none" ? "not" : null }, element("span", { class: "soft" }, `${KINDS[part.kind]} `), isolated(partInWords(part)))));
}

function cutInWords(topic, usual) {
  const own = cutOf(topic);
  const { measure, least } = own ?? usual;
  const learned = typeof topic.learned?.threshold === "number" ? ", learned" : "";
  return `${own ? "" : "the usual cut: "}${measure} from ${least.toFixed(2)}${learned}`;
}

/** How far readers agree, with its 95 % interval. */
function agreementInWords({ readers, hits, agreed, alpha, disputed }) {
  const { value, low, high } = alpha ?? agreed;
  const [figure, from, to] = [value, low, high].map((one) => one.toFixed(2));
  const left = disputed ? `, ${counted(disputed)} to settle` : "";
  return `${plural(readers.length, "reader")} agree on ${plural(hits, "hit")}: ${alpha ? "alpha" : "share"} ${figure} (${from} to ${to})${left}`;
}

function wordings(texts = [], kind) {
  return texts.map((text) => element("li", {}, element("span", { class: "soft" }, `${kind} `), element("q", {}, isolated(text))));
}

/**
 * What learning changed: hits before and after, and some that only one has.
 *
 * @param {{learned?: any, changes: any, where?: Object<string, any>}} topic
 */
function difference({ learned, changes, where = {} }) {
  const some = (hits, sign) => hits.map((hit) => element(
    "li", {}, element("span", { class: sign === "+" ? "right" : "wrong" }, `${sign} `), element("q", {}, isolated(hit.text))));
  return [
    element("h3", {}, `Learned from ${plural(learned?.labels ?? 0, "answer")}${typeof where.speaker === "string" ? ` about words of the ${where.speaker}` : ""}`),
    element("ul", { class: "plain-list" }, ...wordings(learned?.phrases, "phrase"), ...wordings(learned?.counter_phrases, "not")),
    element("p", {}, `${plural(changes.before, "hit")} before, ${counted(changes.after)} now`),
    element("ul", { class: "plain-list" }, ...some(changes.gained, "+"), ...some(changes.lost, "−")),
  ];
}
