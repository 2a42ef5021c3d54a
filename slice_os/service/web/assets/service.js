/** Requests to the service, at addresses relative to the page. */

const STORED = "slice-os-key";
// So many requests of this page at a time, besides streams: it must not keep itself waiting.
const AT_ONCE = 3;
// A service that is busy is asked again, a few times.
const AGAIN = 4;
const BUSY = [429, 503];

let running = 0;
/** @type {(() => void)[]} */
const waiting = [];

/** What went wrong, as the service says it; status 0 if it does not answer at all. */
export class ServiceError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {number} retryAfter seconds, 0 if not given
   */
  constructor(status, code, message, retryAfter = 0) {
    super(message);
    this.name = "ServiceError";
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** @type {(refused: boolean) => Promise<string | null>} */
let keyAsker = async () => null;

/** @param {(refused: boolean) => Promise<string | null>} asker gives a key, or null for none */
export function whenKeyNeeded(asker) {
  keyAsker = asker;
}

/**
 * @typedef {{method?: string, body?: any, headers?: Object<string, string>, signal?: AbortSignal}}
 *   Request
 */

/**
 * The JSON of an answer; null if it is empty.
 *
 * @param {string} path
 * @param {Request} request
 * @returns {Promise<any>}
 * @throws {ServiceError}
 */
export function ask(path, request = {}) {
  return inTurn(async () => {
    const answer = await send(path, request);
    return answer.status === 204 ? null : answer.json();
  });
}

/**
 * The answer as a file.
 *
 * @param {string} path
 * @param {Request} request
 */
export function askFile(path, request = {}) {
  return inTurn(async () => (await send(path, request)).blob());
}

async function inTurn(work) {
  while (running >= AT_ONCE) await new Promise((resolve) => waiting.push(() => resolve(null)));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

/**
 * The objects of an answer in NDJSON, as they arrive.
 *
 * @param {string} path
 * @param {Request} request
 * @returns {AsyncGenerator<any>}
 */
export async function* askLines(path, request = {}) {
  const answer = await send(path, request);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(unreachable);
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line) yield JSON.parse(line);
  }
  if (rest.trim()) yield JSON.parse(rest);
}

/** A document's address. Ids may hold slashes; a browser would resolve ".." in a path. */
export function documentPath(id, below = "documents") {
  const parts = id.split("/");
  const plain = parts.every((part) => part && part !== "." && part !== "..");
  return `${below}/${plain ? parts.map(encodeURIComponent).join("/") : encodeURIComponent(id)}`;
}

/**
 * @param {string} path
 * @param {Request} request
 */
async function send(path, { method, body, headers = {}, signal }) {
  let refused = false;
  for (let times = 1; ; times += 1) {
    const key = sessionStorage.getItem(STORED);
    /** @type {Object<string, string>} */
    const sent = { ...headers };
    if (key) sent.Authorization = `Bearer ${key}`;
    if (body !== undefined) sent["Content-Type"] = "application/json";
    const answer = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    }).catch(unreachable);
    if (answer.ok) return answer;
    if (BUSY.includes(answer.status) && times < AGAIN) {
      const seconds = Number(answer.headers.get("Retry-After")) || times;
      await pause(1000 * seconds, signal);
      continue;
    }
    if (answer.status !== 401) throw await failure(answer);
    const given = await keyAsker(refused || Boolean(key));
    if (given === null) throw new ServiceError(401, "unauthorized", "");
    sessionStorage.setItem(STORED, given);
    refused = true;
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

/**
 * @param {Error} error
 * @returns {never}
 */
function unreachable(error) {
  if (error.name === "AbortError") throw error;
  throw new ServiceError(0, "unreachable", "The service may have stopped, or the network is down.");
}

async function failure(answer) {
  const said = await answer.json().catch(() => ({}));
  const { code = "unknown", message = answer.statusText || `status ${answer.status}` } =
    said.error ?? {};
  return new ServiceError(
    answer.status, code, message, Number(answer.headers.get("Retry-After")) || 0,
  );
}
