// What `dataperf audit --format json` has found, as figures. The file is read in the browser: it names hidden labels, so it goes nowhere.

import { capital, command, crumbs, h, href, plain, s, say, score, some, titled, wide } from "./dom.js";
import { takesDrops } from "./drop.js";

const LISTED = 50; // labels in doubt
const Z = 1.959964; // of 95 %

/** Wilson's 95 % interval of a share. */
export function wilson(n, of) {
  if (of === 0) return [0, 1];
  const [share, square] = [n / of, Z ** 2 / of];
  const half = (Z / (1 + square)) * Math.sqrt((share * (1 - share)) / of + Z ** 2 / (4 * of ** 2));
  const middle = (share + square / 2) / (1 + square);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

function figure(name, n, of) {
  const [low, high] = wilson(n, of);
  return h("div", {}, h("dt", {}, name), h("dd", {}, h("span", { class: "n" }, `${plain(n)} of ${plain(of)}, ${percent(n / of)}`), h("span", { class: "tries" }, ` ${percent(low)} to ${percent(high)} with 95 % confidence`)));
}

/** How many pairs of rows are there twice: exactly, and nearly where that was looked for. */
const twice = ({ exact, near, is_near_searched: isSearched }) => `${some(exact.length, "pair")} exactly, ${isSearched ? `${plain(near.length)} nearly` : "near copies were not searched for"}`;

/** A bar for each class: its items, and of them those in doubt. */
function classes(of, doubts, name) {
  const most = Math.max(...of.map(({ n_items: n }) => n), 1);
  const bar = ({ class: label, n_items: n }) => {
    const [inDoubt, likely] = [doubts.filter(({ given }) => given === label), doubts.filter(({ given, is_likely: is }) => is && given === label)];
    let at = 0;
    const part = (look, share) => {
      const [x, width] = [at, (100 * share) / most];
      at += width;
      return s("rect", { class: look, x, width, height: 10 });
    };
    return h("tr", {}, h("th", { scope: "row" }, label), h("td", { class: "n" }, plain(n)), h("td", { class: "n" }, plain(inDoubt.length)), h("td", { class: "n" }, plain(likely.length)), h("td", {}, s("svg", { class: "stacked", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, part("likely", likely.length), part("doubtful", inDoubt.length - likely.length), part("rest", n - inDoubt.length))));
  };
  const head = ["Class", "Items", "In doubt", "Likely errors"].map((name, idx) => h("th", { scope: "col", class: idx > 0 ? "n" : null }, name));
  return wide(`Table of classes of ${name}`, h("table", { class: "numbers audited" }, h("caption", { class: "unseen" }, "Classes"), h("thead", {}, h("tr", {}, head, h("td", {}))), h("tbody", {}, of.map(bar))));
}

function doubtful(doubts, name) {
  if (doubts.length === 0) return null;
  const sorted = [...doubts].sort((a, b) => Number(b.is_likely) - Number(a.is_likely) || b.margin - a.margin);
  const line = (of) => h("tr", {}, h("th", { scope: "row" }, of.id ?? plain(of.row)), h("td", {}, of.given), h("td", {}, of.suggested), h("td", { class: "n" }, score(of.margin, 3)), h("td", {}, of.flagged_by.join(", ").replaceAll("_", " ")), h("td", {}, of.is_likely ? "likely error" : "in doubt"));
  const head = ["Item", "Given", "Suggested", "Margin", "Flagged by", ""].map((name, idx) => h("th", { scope: "col", class: idx === 3 ? "n" : null }, name || h("span", { class: "unseen" }, "How likely")));
  return h("details", {}, h("summary", {}, some(doubts.length, "label in doubt", "labels in doubt")), wide(`Table of labels in doubt of ${name}`, h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, sorted.slice(0, LISTED).map(line)))), sorted.length > LISTED ? h("p", { class: "note" }, `The first ${LISTED}, likely errors first; `, h("code", {}, "--work-list FILE.csv"), " has all.") : null);
}

function set(of, idx) {
  const id = `set-${idx}`;
  const none = of.why_no_doubts;
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": id },
    h("h2", { id }, capital(of.set)),
    h(
      "dl",
      { class: "facts" },
      none ? h("div", {}, h("dt", {}, "Labels"), h("dd", {}, `not audited: ${none}`)) : [figure("Likely errors", of.n_likely, of.n_items), figure("In doubt", of.doubts.length, of.n_items)],
      h("div", {}, h("dt", {}, "Twice in it"), h("dd", {}, twice(of.duplicates))),
      of.leaks.map((leak) => h("div", {}, h("dt", {}, "Also in"), h("dd", {}, h("code", {}, leak.file), `: ${twice(leak)}`))),
    ),
    classes(of.classes, of.doubts, of.set),
    doubtful(of.doubts, of.set),
  );
}

/** Everything that is wrong with a document, as a sentence; null where it is an audit's. */
function wrong(document) {
  const isPairs = (of) => Array.isArray(of?.exact) && Array.isArray(of?.near);
  const isSet = (of) => typeof of?.set === "string" && Number.isInteger(of.n_items) && Array.isArray(of.doubts) && Array.isArray(of.classes) && Array.isArray(of.leaks) && isPairs(of.duplicates);
  return Array.isArray(document?.sets) && document.sets.every(isSet) ? null : "This file is not an audit: choose the output of `dataperf audit frozen/ --format json`.";
}

/** A view of a JSON file that the command line has written: a file is chosen, and what `drawn` makes of it is shown below. `wrong` says what
 * is wrong with a document, or null; `note` says of the file what people should know. */
export function viewOfFile({ title, crumb, lead, heading, line, note, wrong, drawn, said }) {
  const input = h("input", { type: "file", id: "file", accept: ".json,application/json" });
  const shown = h("div", { "aria-live": "polite" });
  const take = async (file) => {
    let document = null;
    try {
      document = JSON.parse(await file.text());
    } catch {
      // said below
    }
    const why = wrong(document);
    if (why) return void shown.replaceChildren(h("p", { class: "problem", role: "alert" }, why));
    shown.replaceChildren(...drawn(document));
    return say(said(document));
  };
  input.addEventListener("change", () => input.files[0] && take(input.files[0]));
  const panel = h("section", { class: "panel wide-panel", "aria-labelledby": "choose" }, h("h2", { id: "choose" }, heading), command(line, "the command that writes it"), h("p", {}, h("label", { for: "file" }, "Choose the file or drop it here."), ` ${note}`), h("div", { class: "drop" }, input));
  takesDrops(panel, take);
  return {
    title,
    nodes: [crumbs(["Benchmarks", "#/"], [crumb]), h("h1", {}, title), h("p", { class: "lead" }, `${lead} `, h("a", { href: href() }, "All benchmarks")), panel, shown],
  };
}

/** The view of an audit. */
export const audit = () =>
  viewOfFile({
    title: "Audit of a test set",
    crumb: "Audit",
    lead: "Labels that two learners contradict, duplicate rows, and small classes, for every test set of a data set.",
    heading: "The audit's file",
    line: "dataperf audit frozen/ --format json > audit.json",
    note: "The file names hidden labels. It stays in your browser.",
    wrong,
    drawn: (document) => [h("h2", {}, `${titled(String(document.benchmark))}, `, h("code", {}, String(document.dataset).slice(0, 19))), ...document.sets.map(set)],
    said: (document) => `${some(document.sets.length, "test set")}.`,
  });
