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

/** What a benchmark says of the board of a submission; undefined where there is none, as for files of several kinds. */
export const boardOf = ({ leaderboards }, { leaderboard, round }) => leaderboards.find((board) => board.name === leaderboard && board.round === round);

/** A score as boards show it: with as many digits as the data set says. */
export const score = (value, digits) => (value === null || value === undefined ? "–" : value.toFixed(digits ?? 4));

/** A score moved to the next shown one by `round`, unless it is one. */
const moved = (value, digits, round) => {
  const units = value * 10 ** digits;
  const nearest = Math.round(units);
  return (Math.abs(units - nearest) < 1e-6 ? nearest : round(units)) / 10 ** digits;
};

/** The ends of an interval of scores with as many digits, moved outward: what is shown contains the interval. */
export const ends = ([low, high], digits) => {
  const shown = digits ?? 4; // where the data set does not say, it is null
  return [score(moved(low, shown, Math.floor), shown), score(moved(high, shown, Math.ceil), shown)];
};

/** A positive number with its first two digits. */
export const rough = (value) => String(Number(value.toPrecision(2)));

/** A button that does `work` when it is pressed, once at a time; what goes wrong stands beside it. */
export function working(button, work) {
  const problem = h("span", { class: "problem", role: "alert" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    problem.replaceChildren();
    try {
      await work();
    } catch ({ message }) {
      problem.replaceChildren(" ", message);
    } finally {
      button.disabled = false;
    }
  });
  return [button, problem];
}

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });

/** Any other number. */
export const plain = (value) => (value === null || value === undefined ? "–" : number.format(value));

/** A part of a score, such as `tasks / 3-8`, as words: `task 3-8`. */
export const part = (of) => {
  const [group, ...names] = of.split(" / ");
  return names.length > 0 ? [group.replace(/(s)es$|s$/, "$1"), ...names].join(" ") : of;
};

/** `f1_per_class` as words. */
export const words = (name) => name.replace(/^n_/, "number of ").replaceAll("_", " ");

/** A number of things: "1 row", "2 rows", "2 entries". */
export const some = (n, one, many = `${one}s`) => `${plain(n)} ${n === 1 ? one : many}`;

/** `speech-selection` as a title. */
export const titled = (id) => capital(id.replaceAll("-", " "));

/** How a board is called. Where others of `all` have its title, its name tells them apart. */
export function boardName(board, all = []) {
  const name = board.name ?? board.leaderboard;
  if (!board.title) return name;
  return all.some((other) => other.title === board.title && other.name !== name) ? `${board.title}, ${name}` : board.title;
}

/** How the board of this name is called among those of its benchmark. */
export const boardNamed = ({ leaderboards }, name) => boardName(leaderboards.find((board) => board.name === name) ?? { name }, leaderboards);

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

const brief = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** The same without the year: "28 Nov 15:38". */
export const whenBriefly = (time) => h("time", { datetime: time, title: time }, brief.format(new Date(time)).replace(",", ""));

const zoned = new Intl.DateTimeFormat("en-GB", { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });

/** The name of the reader's time zone at a moment. */
export const zone = (time) => zoned.formatToParts(new Date(time)).find(({ type }) => type === "timeZoneName").value;

/** The same with the time zone's name. */
export const whenExactly = (time) => h("time", { datetime: time, title: time }, zoned.format(new Date(time)));

const SPANS = [[86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"], [1000, "second"]];

/** How long `ms` are, in the two largest units: "3 days 4 hours". */
export function lasting(ms) {
  const first = SPANS.findIndex(([of]) => ms >= of);
  if (first < 0) return "less than a second";
  let rest = ms;
  const parts = SPANS.slice(first, first + 2).map(([of, name]) => {
    const n = Math.floor(rest / of);
    rest -= n * of;
    return n > 0 ? some(n, name) : null;
  });
  return parts.filter(Boolean).join(" ");
}

/** A text that says how long it is until a moment, as long as it stands in the page. */
export function countdown(time, text) {
  const node = h("span", { class: "countdown" });
  const draw = () => {
    const left = Date.parse(time) - Date.now();
    node.textContent = left > 0 ? text(lasting(left)) : "now: reload the page";
    if (left > 0) setTimeout(() => node.isConnected && draw(), left > 3_600_000 ? 60_000 : 1000);
  };
  draw();
  return node;
}

/** What commands need in addition to reach a cloud on one machine. */
export const whichCloud = ({ s3_endpoint: s3 }) => (s3 ? { aws: ` --endpoint-url ${s3}`, dataperf: ` --cloud ${location.origin}` } : { aws: "", dataperf: "" });

/** The ranks that a row may have, with 95 % confidence. */
export const ranks = ([first, last]) => (first === last ? `rank ${plain(first)}` : `ranks ${plain(first)} to ${plain(last)}`);

/** What became of a submission. */
export const pill = (status) => h("span", { class: `pill ${status}` }, status);

/** A button that copies what `text` gives. */
function copying(text, label, name) {
  const button = h("button", { type: "button", class: "quiet", "aria-label": label === name ? null : label }, name);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text());
    say("Copied.");
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = name), 1500);
  });
  return button;
}

/** How many rows of others and of baselines there are in `rows`: "5 submitters, 2 baselines". */
export function counted(rows, more) {
  const n_baselines = rows.filter((row) => row.is_baseline).length;
  return counts(rows.length - n_baselines, n_baselines, more);
}

/** The same of numbers. */
export function counts(n, n_baselines, more) {
  const others = `${more ? "more than " : ""}${some(n, "submitter")}`;
  return n_baselines > 0 ? `${others}, ${some(n_baselines, "baseline")}` : others;
}

/** A table that may be wider than its panel. */
export const wide = (label, table) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);

/** A command to copy. */
export function command(text, label) {
  return h("div", { class: "command" }, h("pre", {}, h("code", {}, text)), copying(() => text, `Copy ${label}`, "Copy"));
}

/** A button that copies the address of what is shown. */
export const share = () => copying(() => location.href, "Copy the link", "Copy the link");

/** The way to a view: names, each with its address; the last one is where one is. */
export function crumbs(...steps) {
  const one = ([name, to], idx) => [idx > 0 ? " / " : null, to ? h("a", { href: to }, name) : name];
  return h("nav", { class: "crumbs", "aria-label": "Where this is" }, steps.map(one));
}

/** Tells those who listen instead of looking. */
export function say(text) {
  document.getElementById("status").textContent = text;
}

/** What files a board takes and how large: in a round where programs compete, WebAssembly modules, and programs in Python where it takes them. */
export function submittingTo({ submitting }, of) {
  const programs = of?.round.programs;
  return programs ? { ...submitting, forms: programs.python ? ["wasm", "py", "zip"] : ["wasm"], max_bytes: programs.max_module_bytes } : submitting;
}

/** The charts that are shown, each with a `draw` and an `end`. */
export const live = new Set();

/** Takes the charts there are; what is returned ends them, once the next view stands in their place. */
export function take() {
  const taken = [...live];
  live.clear();
  return () => taken.forEach((chart) => chart.end());
}
