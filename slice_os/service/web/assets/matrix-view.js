/** Documents by topics: what each has, may have and lacks; a cell opens the document there. */

import { byId, counted, element, isolated } from "./dom.js";
import { percent } from "./hit-row.js";
import { showError, showNotice, tell } from "./notices.js";
import { isRule } from "./rules.js";
import { ask } from "./service.js";
import { saveMatrix } from "./table-file.js";
import { documentWord, documentsBy, documentsWithout } from "./unit.js";

const FIRST = 200;
const CLASSES = { has: "right", unsure: "doubt", lacks: "soft" };

/**
 * @param {() => import("./address.js").View} current
 * @param {ReturnType<import("./reader-pane.js").readerPane>} reader
 */
export function matrixView(current, reader) {
  const root = byId("matrix");
  const notice = byId("matrix-notice");
  const place = byId("matrix-cells");
  const total = byId("matrix-total");
  let running = new AbortController();
  /** @type {{store: string, topics: string[], sections: boolean}} what was asked last */
  let body = { store: "", topics: [], sections: true };

  byId("save-matrix").addEventListener("click", () => saveMatrix(body, byId("matrix-format").value).catch((error) => showError(notice, error)));

  function show({ documents, findings, cells }, whole) {
    const { topics } = body;
    const found = new Map(cells.map((cell) => [keyOf(cell.doc_id, cell.topic), cell]));
    const rows = element("tbody");
    const order = (topic) => rows.replaceChildren(
      ...cells.filter((cell) => cell.topic === topic).map(({ doc_id }) => row(doc_id, topics.map((one) => found.get(keyOf(doc_id, one))))));
    order(topics[0]);
    const heads = findings.map(({ topic, ...own }) => element(
      "th", { scope: "col" },
      element("button", { class: "link", type: "button", title: `Those that lack ${topic} first`, click: () => order(topic) }, isolated(topic)),
      element("span", { class: "soft" }, topics.length > 1 ? summary(own) : ""),
    ));
    const head = element("tr", {}, element("th", { scope: "col" }, documentWord()), ...heads);
    place.replaceChildren(element("table", { class: topics.length > 1 ? "" : "one" }, element("thead", {}, head), rows));
    total.textContent = heads.length > 1 ? `${counted(documents)} ${documentWord(documents !== 1)}` : findings.map(summary).join("");
    const shown = rows.childElementCount;
    if (shown < documents) place.append(element("p", { class: "mining" }, `The first ${counted(shown)} are shown.`, element("button", { type: "button", click: whole }, "Show all")));
    tell(total.textContent);
    const wanted = current().open;
    const cell = wanted && cells.find(({ doc_id, nearest }) => doc_id === wanted.id && nearest?.start === wanted.start);
    if (cell) open(cell);
  }

  function open({ doc_id, topic, nearest }) {
    reader.open(nearest ?? { doc_id, start: 0, end: 0, span: null }, { store: body.store, topics: [topic] }, () => "");
  }

  /** A document with its cells; of one topic, with the words, too. */
  function row(doc_id, cells) {
    const [first] = cells;
    const name = element("button", { class: "link", type: "button", click: () => open(first) }, isolated(doc_id));
    const words = cells.length === 1 && first.nearest
      ? element("button", { class: "link said", type: "button", dir: "auto", click: () => open(first) }, ...[first.nearest.metadata.section].filter(Boolean).map((one) => element("span", { class: "chip" }, isolated(one))), " ", first.nearest.text)
      : null;
    return element(
      "tr", {},
      element("th", { scope: "row" }, name),
      ...cells.map((cell) => element(
        "td", {},
        element("button", { class: `link ${CLASSES[cell.finding]}`, type: "button", title: cell.nearest ? [cell.nearest.metadata.section, cell.nearest.text].filter(Boolean).join(": ") : "nothing comes near", click: () => open(cell) }, inWords(cell)),
        words,
      )),
    );
  }

  async function find(limit) {
    leave();
    const mine = (running = new AbortController());
    const { store, topic } = current();
    reader.close(true);
    notice.hidden = true;
    place.replaceChildren();
    total.textContent = "Looking …";
    byId("matrix-title").replaceChildren(topic ? `${documentsWithout()} ` : documentsBy("topics"), isolated(topic));
    root.setAttribute("aria-busy", "true");
    try {
      const topics = topic ? [topic] : (await ask("topics")).topics.filter((one) => !isRule(one)).map(({ name }) => name);
      body = { store, topics, sections: true };
      byId("save-matrix").disabled = !topics.length;
      if (!topics.length) {
        total.textContent = "";
        showNotice(notice, "No topics yet", "Each topic is a column of this table.");
        return;
      }
      const found = await ask("matrix", { body: { ...body, ...(limit && { limit }) }, signal: mine.signal });
      show(found, () => find(null));
    } catch (error) {
      if (error.name === "AbortError") return;
      total.textContent = "";
      showError(notice, error, () => find(limit));
    } finally {
      if (mine === running) root.removeAttribute("aria-busy");
    }
  }

  /** End what is asked: nobody waits for it. */
  function leave() {
    running.abort();
  }

  return { open: () => find(FIRST), leave };
}

/** @param {Object<string, number>} findings */
function summary({ lacks, unsure, has }) {
  return `${counted(lacks)} lack it, ${counted(unsure)} unsure, ${counted(has)} have it`;
}

function keyOf(doc_id, topic) {
  return JSON.stringify([doc_id, topic]);
}

/** "has 93 %", or what people said. */
function inWords({ finding, nearest }) {
  const said = nearest?.label === true ? "accepted" : nearest?.label === false ? "rejected" : null;
  const likely = nearest?.probability ?? null;
  return `${finding} ${said ?? (likely === null ? "" : percent(likely))}`.trim();
}
