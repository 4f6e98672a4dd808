// Small helpers. Text from the API goes into the page as text only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

/** An element: `h("a", { href: "#/" }, "text", otherElement)`. */
export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

/** An element of a drawing. */
export const s = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** The address of a view of this page. */
export const href = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

/** A score as boards show it: with as many digits as the data set says. */
export const score = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits ?? 4));

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });

/** Any other number. */
export const plain = (value) => (value === null || value === undefined ? "–" : number.format(value));

/** `f1_per_class` as words. */
export const words = (name) => name.replace(/^n_/, "number of ").replaceAll("_", " ");

/** `speech-selection` as a title. */
export const titled = (id) => capital(id.replaceAll("-", " "));

/** A sentence's first letter. */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A message with its values, which stand between backticks, set as such. */
export const prose = (text) => text.split("`").map((part, idx) => (idx % 2 === 0 ? part : h("code", {}, part)));

const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** A size in decimal units. */
export function size(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${UNITS[unit]}`;
}

const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A moment in the reader's own time zone, the exact one in its title. */
export const when = (time) => h("time", { datetime: time, title: time }, day.format(new Date(time)));

/** What became of a submission. */
export const pill = (status) => h("span", { class: `pill ${status}` }, status);

/** A command to copy. */
export function command(text, label) {
  const button = h("button", { type: "button", class: "quiet", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    say("Copied.");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return h("div", { class: "command" }, h("pre", {}, h("code", {}, text)), button);
}

/** Tells those who listen instead of looking. */
export function say(text) {
  document.getElementById("status").textContent = text;
}
