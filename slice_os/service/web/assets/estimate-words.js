/** An estimate in words that need no statistics. */

import { counted, element } from "./dom.js";

/**
 * @param {{estimate: any, labels_to_halve: number}} found as the service gives it
 * @returns {HTMLElement[]}
 */
export function estimateInWords({ estimate, labels_to_halve: more }) {
  const { cut, richness, passages, labels, curve } = estimate;
  const said = { value: richness.value * passages, low: richness.low * passages, high: richness.high * passages };
  return [
    element("p", { class: "finding" }, "Finds about ", element("b", {}, of(100, cut.recall)), ` after ${counted(labels)} labels.`),
    element("p", {}, "Of what it finds, about ", element("b", {}, of(100, cut.precision)), " is right."),
    element("p", {}, `Of the passages that it does not find, about ${of(1000, cut.elusion)} say it.`),
    element("p", {}, `About ${range(said)} of ${counted(passages)} passages say it.`),
    element("p", { class: "soft" }, `In brackets is where the truth is in 95 of 100 such samples. ${counted(more)} more labels would make these ranges about half as wide.`),
    element(
      "details", {}, element("summary", {}, "Other cuts"),
      element("table", {},
        element("thead", {}, row("th", "cut", "passages", "right of 100", "found of 100")),
        element("tbody", {}, ...curve.filter(({ least }) => least >= 0).map((one) =>
          row("td", one.least.toFixed(2), counted(one.found), share(100, one.precision), share(100, one.recall))))),
    ),
  ];
}

/** What a sample tells of a topic's own cut, in one line. */
export function sampleInWords({ cut, labels }) {
  return `precision ${percents(cut.precision)}, recall ${percents(cut.recall)}, by ${counted(labels)} labels of a sample`;
}

function percents({ value, low, high }) {
  const [share, from, to] = [value, low, high].map((one) => Math.round(100 * one));
  return `${share} % (${from} to ${to} %)`;
}

function row(cell, ...texts) {
  return element("tr", {}, ...texts.map((text) => element(cell, {}, text)));
}

/** "82 of 100 (71 to 90)". */
function of(whole, interval) {
  return `${fine(whole * interval.value)} of ${counted(whole)} (${fine(whole * interval.low)} to ${fine(whole * interval.high)})`;
}

function share(whole, interval) {
  return range({ value: whole * interval.value, low: whole * interval.low, high: whole * interval.high });
}

function range({ value, low, high }) {
  return `${fine(value)} (${fine(low)} to ${fine(high)})`;
}

/** A whole number, or one digit more if it is small. */
function fine(value) {
  return value > 0 && value < 2 ? value.toFixed(1) : counted(Math.round(value));
}
