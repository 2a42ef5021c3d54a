// Searches, mines and highlights. Arguments: the service's address, a phrase.

const [service, phrase] = process.argv.slice(2);
const key = process.env.SLICE_OS_API_KEY;

async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(`${service}/${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error((await response.json()).error.message);
  return response;
}

// The JSON of each line, as soon as it has arrived.
async function* lines(response) {
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    for (const line of parts) yield JSON.parse(line);
  }
}

function show({ cosine, doc_id, start, end, text }) {
  console.log(`${cosine}  ${doc_id}:${start}-${end}  ${text}`);
}

console.log("search");
const { hits } = await (await ask("search", { phrases: phrase, top_k: 3 })).json();
hits.forEach(show);

console.log("mine");
let complete = false;
for await (const line of lines(await ask("mine", { phrases: phrase, threshold: 0.5 }))) {
  if (line.error) throw new Error(line.error.message);
  if (line.hit) show(line.hit);
  if (line.summary) {
    complete = true;
    console.log(`${line.summary.hits} hits`);
  }
}
if (!complete) throw new Error("the stream broke off");

console.log("highlights");
const path = `documents/${encodeURIComponent(hits[0].doc_id)}/highlights`;
const found = await (await ask(path, { phrases: phrase, threshold: 0.5 })).json();
const characters = Array.from(found.text); // offsets count code points, not UTF-16 units
for (const { start, end } of found.hits) {
  characters[start] = `[${characters[start]}`;
  characters[end - 1] += "]";
}
console.log(characters.join(""));
