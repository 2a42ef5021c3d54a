/** Rules: topics that combine others. Pure functions, between the keys of their files and words. */

import { documents } from "./unit.js";

export const KINDS = { all: "has", any: "has one of", none: "lacks" };

/** @typedef {{kind: string, topic: string, [key: string]: any}} Part */

/** Whether a topic combines others. */
export function isRule(topic) {
  return Object.keys(KINDS).some((kind) => topic[kind]);
}

/** @returns {Part[]} the parts of a rule, each with its kind */
export function partsOf(topic) {
  return Object.keys(KINDS).flatMap((kind) =>
    (topic[kind] ?? []).map((part) => (typeof part === "string" ? { kind, topic: part } : { kind, ...part })));
}

/** The lists of parts as a topic file has them. */
export function listsOf(parts) {
  const lists = {};
  for (const { kind, ...part } of parts) {
    (lists[kind] ??= []).push(Object.keys(part).length > 1 ? part : part.topic);
  }
  return lists;
}

/** The names of all topics that a rule asks for, once. */
export function namesIn(topic) {
  return [...new Set(partsOf(topic).flatMap(({ topic: name, after, before, near }) => [name, after, before, near]))].filter(Boolean);
}

/** A part without its kind: "cancel, said by customer, at least 2 times". */
export function partInWords(part) {
  const order = ["after", "before", "near"].find((name) => part[name]);
  const beside = order && `${part.within ? `within ${part.within} ` : ""}${order} ${part[order]}`;
  return [
    part.topic,
    part.speaker && `said by ${part.speaker}`,
    part.asked === undefined ? "" : part.asked ? "as a question" : "not as a question",
    part.first && `in the first ${part.first}`,
    part.last && `in the last ${part.last}`,
    beside,
    part.times > 1 && `at least ${part.times} times`,
    part.documents > 1 && `in at least ${documents(part.documents)}`,
  ].filter(Boolean).join(", ");
}
