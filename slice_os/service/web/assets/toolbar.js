/** The bar above the hits: by which score they are cut, their order, a file of them, and a link. */

import { byId } from "./dom.js";
import { toast, toastError } from "./notices.js";
import { saveHits } from "./table-file.js";

/**
 * @param {(change: Object) => void} change changes the view, and the address
 * @param {{measured: () => void, ordered: () => void, saved: () => {hits: any[], store: string}}} told
 */
export function toolbar(change, { measured, ordered, saved }) {
  // A hit that is stepped to stops below the bar, which is higher beside a document.
  new ResizeObserver(([{ target: { clientHeight: height } }]) => {
    if (height) byId("results").style.scrollPaddingTop = `${height}px`;
  }).observe(byId("toolbar"));
  const measures = byId("measures");
  measures.addEventListener("change", () => {
    change({ measure: measures.querySelector(":checked").value, least: null });
    measured();
  });
  byId("order").addEventListener("change", () => {
    change({ order: byId("order").value });
    ordered();
  });
  byId("save-file").addEventListener("click", () => {
    const { hits, store } = saved();
    saveHits(hits, byId("file-format").value, store).catch(toastError);
  });
  byId("copy-link").addEventListener("click", async () => {
    change({});
    await navigator.clipboard.writeText(location.href).then(() => toast("Link copied"), () => toast("The browser does not allow it: copy the address.", true));
  });
  return {
    /** Show what is chosen, for hits that have a probability or not; cosines are all that others have. */
    draw(view, found) {
      measures.disabled = !found.read;
      if (found.all.length && !found.read) view.measure = "cosine";
      measures.querySelector(`[value=${view.measure}]`).checked = true;
      byId("order").value = view.order;
      byId("toolbar").hidden = !found.all.length;
    },
  };
}
