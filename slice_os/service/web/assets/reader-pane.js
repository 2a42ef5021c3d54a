/** Opens documents beside the list, and keeps both at the same hit. */

import { byId, coloursBy } from "./dom.js";
import { inWords } from "./notices.js";
import { originalPage } from "./original-page.js";
import { documentReader } from "./reader.js";
import { ask, documentPath } from "./service.js";

// Marks of all hits from this cosine on, so that the slider has room in a document, too.
const FLOOR = 0.45;

/**
 * @param {() => import("./address.js").View} current
 * @param {(change: Object) => void} change
 * @param {() => Object} queryBody the query as the service reads it
 * @param {(hit: any) => void} choose chooses a hit in the list, if it is there
 */
export function readerPane(current, change, queryBody, choose) {
  let running = new AbortController();
  let id = "";
  let opener = null;
  const view = byId("search-view");
  const reader = documentReader(
    {
      root: byId("reader"), title: byId("reader-title"), fields: byId("reader-fields"),
      text: byId("reader-text"), map: byId("minimap"), number: byId("mark-number"),
      former: byId("former-mark"), next: byId("next-mark"), close: byId("close-reader"),
    },
    {
      closed: () => close(),
      moved: (mark) => {
        remember(mark);
        choose(mark);
      },
      marked: (...marks) => page.show(...marks),
    },
  );
  const page = originalPage(
    {
      root: byId("original"), sheet: byId("sheet"), number: byId("page-number"),
      former: byId("former-page"), next: byId("next-page"), toggle: byId("show-original"),
      view, reader: byId("reader"),
    },
    () => ({ store: current().store, id }),
    (mark) => {
      reader.goTo(mark);
      remember(mark);
      choose(mark);
    },
  );

  /** Open a document at a hit, with all hits of a query marked in it. */
  async function open(hit, body = bodyOfQuery(), colourOf = coloursBy("phrase", body.phrases ?? [])) {
    remember(hit);
    if (hit.doc_id === id && reader.goTo(hit)) return;
    running.abort();
    const mine = (running = new AbortController());
    if (!id) opener = document.activeElement;
    id = hit.doc_id;
    view.classList.add("with-reader");
    page.forget();
    reader.expect(id);
    // Over a narrow screen the document is all there is.
    if (narrow()) byId("close-reader").focus();
    try {
      const shown = await ask(`${documentPath(id)}/highlights`, { body, signal: mine.signal });
      reader.show(shown, hit, colourOf);
    } catch (error) {
      if (error.name === "AbortError") return;
      page.close();
      reader.fail(inWords(error).text);
    }
  }

  function bodyOfQuery() {
    const { where, ...query } = queryBody();
    return query.topics ? query : { ...query, threshold: FLOOR };
  }

  function remember(hit) {
    change({ open: { id: hit.doc_id, start: hit.start, end: hit.end } });
  }

  /** Close the document; one that is only replaced stays in the address. */
  function close(stays = false) {
    if (!id) return;
    running.abort();
    id = "";
    view.classList.remove("with-reader");
    reader.close();
    page.close();
    if (!stays) change({ open: null });
    if (opener?.isConnected) opener.focus({ preventScroll: true });
  }

  return {
    open,
    close,
    /** A hit was chosen in the list: an open reader goes there. */
    follow(hit) {
      if (id && !narrow()) open(hit);
    },
    cut: (test) => reader.cut(test),
    /** Open what the address says, if it is among the hits. */
    reopen(hits) {
      const wanted = current().open;
      const hit = wanted && hits.find((one) => one.doc_id === wanted.id && one.start === wanted.start && one.end === wanted.end);
      if (!hit) return;
      choose(hit);
      open(hit);
    },
  };
}

/** Whether there is one column. */
export function narrow() {
  return matchMedia("(max-width: 60rem)").matches;
}
