// Sends the requests that `slice-os index query` printed, and prints the hits as lines of JSON.
// Standard input: what `slice-os index query` printed. Argument: the server's address.

import { createHash } from "node:crypto";
import { json } from "node:stream/consumers";

const SEARCHES = 3; // per phrase: by vector, by BM25, and by the phrase with some slop

async function post(url, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body });
  const answer = await response.json();
  for (const { error } of [answer, ...(answer.responses ?? [])]) {
    if (error) throw new Error(`OpenSearch says ${JSON.stringify(error)}`);
  }
  return answer;
}

// Computed here, since the server takes longer to look up ids than to search.
function passageId({ fields }) {
  const digest = createHash("sha256").update(fields.doc_id[0], "utf8").digest("hex");
  return `${digest.slice(0, 32)}-${fields.ordinal[0]}`;
}

// Sets the value at a JSON pointer.
function put(body, pointer, value) {
  const keys = pointer.split("/").slice(1);
  const last = keys.pop();
  keys.reduce((inner, key) => inner[key], body)[last] = value;
}

function toHit(found, phrase) {
  const { doc_id, start: passageStart, text } = found._source;
  const [cosine, start, end] = found.fields.span;
  return {
    phrase,
    doc_id,
    start: passageStart + start,
    end: passageStart + end,
    // Offsets count code points; text.slice() would count UTF-16 units.
    text: Array.from(text).slice(start, end).join(""),
    cosine,
    bm25: found.matched_queries?.["0"] ?? 0,
    score: found.sort[0] - 1,
  };
}

async function search(server, query) {
  const { candidates, scored } = query;
  const lines = candidates.lines.map((line) => JSON.stringify(line) + "\n");
  const { responses } = await post(server + candidates.path, lines.join(""));
  const best = new Map(); // a passage counts with the phrase that scores best in it
  for (const [row, body] of scored.bodies.entries()) {
    const answers = responses.slice(SEARCHES * row, SEARCHES * (row + 1));
    const ids = answers.flatMap((answer) => answer.hits.hits.map(passageId));
    const highestBm25 = answers[1].hits.max_score;
    put(body, scored.fill.ids, [...new Set(ids)]);
    put(body, scored.fill.bm25_weight, highestBm25 ? scored.bm25_weight / highestBm25 : 0);
    const { hits } = await post(server + scored.path, JSON.stringify(body));
    for (const found of hits.hits) {
      const hit = toHit(found, query.phrases[row]);
      const other = best.get(found._id);
      if (!other || hit.score > other.score) best.set(found._id, hit);
    }
  }
  const hits = [...best.values()].sort((one, other) => other.score - one.score);
  return hits.slice(0, scored.bodies[0].size);
}

const [server] = process.argv.slice(2);
const query = await json(process.stdin);
if (!query.scored) throw new Error("the server does not score; see docs/another-language.md");
for (const hit of await search(server, query)) console.log(JSON.stringify(hit));
