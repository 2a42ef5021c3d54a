/** Building and finding elements. Text is set as text and never read as HTML. */

/**
 * An element with attributes, listeners and children.
 *
 * @param {string} tag
 * @param {Object<string, string | number | boolean | null | undefined | EventListener>} attributes
 *   functions listen to the event of that name; false, null and undefined are left out
 * @param {...(Node | string | null | undefined)} children
 * @returns {any}
 */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * The element with an id.
 *
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id);
}

/** Text from outside, isolated so that its direction cannot reorder what stands beside it. */
export function isolated(text) {
  return element("bdi", {}, text);
}

const number = new Intl.NumberFormat("en");

/** A whole number with separators. */
export function counted(value) {
  return number.format(value);
}

/** "1 hit", "2 hits". */
export function plural(value, noun) {
  return `${counted(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Seconds as a clock shows them: 4:43, or 1:02:03. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(whole / 3600);
  return hours ? `${hours}:${parts.join(":")}` : parts.join(":").replace(/^0/, "");
}

/** Classes of hits by their phrase or topic, so that each has a colour; none if there is only one. */
export function coloursBy(key, values) {
  const numbers = new Map(values.map((value, number) => [value, `p${number % 6}`]));
  return (hit) => (values.length > 1 ? numbers.get(hit[key]) ?? "" : "");
}
