/** Hits in the same words shown once, until somebody asks for the others. */

/** @typedef {import("./scores.js").Hit} Hit */

export function sameWords() {
  /** @type {WeakMap<Hit, string>} */
  const known = new WeakMap();
  /** @type {Map<Hit, Hit[]>} those that are not shown, by the one that is */
  const behind = new Map();
  /** @type {Set<string>} */
  const opened = new Set();

  function wordsOf(hit) {
    let words = known.get(hit);
    if (words === undefined) {
      words = `${hit.phrase}\n${hit.text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu)?.join(" ") ?? hit.text}`;
      known.set(hit, words);
    }
    return words;
  }

  return {
    /** Of hits in the same words the first, in order. */
    once(hits) {
      /** @type {Map<string, Hit[]>} */
      const groups = new Map();
      for (const hit of hits) {
        const words = wordsOf(hit);
        const group = groups.get(words);
        if (group) group.push(hit);
        else groups.set(words, [hit]);
      }
      behind.clear();
      return [...groups].flatMap(([words, [first, ...others]]) => {
        if (opened.has(words)) return [first, ...others];
        behind.set(first, others);
        return [first];
      });
    },
    all(hits) {
      behind.clear();
      return hits;
    },
    behind: (hit) => behind.get(hit)?.length ?? 0,
    /** A hit, and those in its words that are not shown. */
    group: (hit) => [hit, ...(behind.get(hit) ?? [])],
    /** From now on, show all hits in the words of this one. */
    open: (hit) => opened.add(wordsOf(hit)),
    reset() {
      opened.clear();
    },
  };
}
