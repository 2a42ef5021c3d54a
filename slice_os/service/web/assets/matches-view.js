/** The matches of a rule; each opens its document beside. */

import { byId, coloursBy, counted, element, isolated } from "./dom.js";
import { matchRow, placeOf } from "./match-row.js";
import { showError, showNotice, tell } from "./notices.js";
import { namesIn } from "./rules.js";
import { keyOf } from "./scores.js";
import { ask } from "./service.js";
import { ruleInWords } from "./topic-card.js";
import { topicPath } from "./topic-form.js";
import { documentWord } from "./unit.js";

const FIRST = 200;

/**
 * @param {() => import("./address.js").View} current
 * @param {ReturnType<import("./reader-pane.js").readerPane>} reader
 */
export function matchesView(current, reader) {
  const root = byId("matches");
  const notice = byId("matches-notice");
  const list = byId("matches-list");
  let asked = 0;

  function show(rule, { total, matches }, whole) {
    const names = namesIn(rule);
    const colourOf = coloursBy("topic", names);
    const body = { store: current().store, topics: names };
    const open = (match) => (hit) => {
      const evidence = new Set(match.evidence.map(keyOf));
      reader.open(hit, body, colourOf);
      reader.cut((one) => evidence.has(keyOf(one)));
    };
    list.replaceChildren(...matches.map((match) => matchRow(match, colourOf, open(match))));
    byId("matches-total").textContent = `${counted(total)} ${total === 1 ? "match" : "matches"}`;
    if (matches.length < total) {
      list.append(element("p", { class: "mining" }, `The first ${counted(matches.length)} are shown.`, element("button", { type: "button", click: whole }, "Show all")));
    }
    if (!total) showNotice(notice, "Nothing matches", `No ${documentWord()} of this store has all that the rule asks for.`);
    tell(byId("matches-total").textContent);
    const wanted = current().open;
    const match = wanted && matches.find(({ doc_ids }) => doc_ids.includes(wanted.id));
    if (!match) return;
    const known = [...match.evidence, ...match.lacks.map(({ nearest }) => nearest)];
    const at = known.find((hit) => hit && hit.doc_id === wanted.id && hit.start === wanted.start);
    open(match)(at ?? placeOf(match));
  }

  async function find(limit) {
    const mine = (asked += 1);
    const { store, topic } = current();
    reader.close(true);
    notice.hidden = true;
    list.replaceChildren();
    byId("matches-total").textContent = "";
    byId("matches-rule").replaceChildren();
    byId("matches-title").replaceChildren(isolated(topic));
    root.setAttribute("aria-busy", "true");
    try {
      const rule = await ask(topicPath(topic));
      byId("matches-rule").replaceChildren(ruleInWords(rule));
      const body = { store, topics: [topic], ...(limit && { limit }) };
      const found = await ask("match", { body });
      if (mine === asked) show(rule, found, () => find(null));
    } catch (error) {
      if (mine === asked) showError(notice, error, () => find(limit));
    } finally {
      if (mine === asked) root.removeAttribute("aria-busy");
    }
  }

  return { open: () => find(FIRST) };
}
