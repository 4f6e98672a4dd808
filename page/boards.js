// Boards side by side: all of one benchmark, or some of several.

import { ask } from "./api.js";
import { boardName, capital, crumbs, h, href, plain, prose, ranks, score, some, titled } from "./dom.js";

const SHOWN = 10; // rows of each

/** How a board is called, with its round. */
const called = (board, all) => `${boardName(board, all)}${board.round === "open" ? "" : ` · ${board.round}`}`;

/** The best rows of a board, without anything to press. */
export function best(page, n, link) {
  const interval = (row) => (row.rank !== null && row.rank_interval ? h("span", { class: "ranks" }, ranks(row.rank_interval)) : null);
  const line = (row) => h("tr", { "data-best": row.rank !== null && row.rank_interval?.[0] === 1, class: row.is_baseline ? "baseline" : row.rank === 1 ? "leading" : null }, h("td", { class: "n rank" }, row.rank === null ? "–" : plain(row.rank), interval(row)), h("th", { scope: "row" }, row.submitter), h("td", { class: "n" }, link ? h("a", { href: link(row) }, score(row.score, page.digits)) : score(row.score, page.digits)));
  if (page.rows.length === 0) return h("p", { class: "empty" }, page.hidden_until ? "Hidden until the round closes." : "No submission has a score yet.");
  const table = h("table", { class: "standings small" }, h("thead", {}, h("tr", {}, ["Rank", "Submitter", "Score"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, page.rows.slice(0, n).map(line)));
  const { comparison } = page;
  const worth = comparison?.why_none ? `Ranks without intervals: ${comparison.why_none}.` : comparison ? "Small figures are 95 % rank ranges; a bar marks the rows tied for first." : null;
  return [table, worth ? h("p", { class: "note" }, worth) : null];
}

async function column(benchmark, board) {
  const page = await ask(["benchmarks", benchmark.id, "leaderboards", board.name], { round: board.round, limit: SHOWN });
  const id = `of-${benchmark.id}-${board.name}-${board.round}`;
  return h(
    "section",
    { class: "panel", "aria-labelledby": id },
    h("h2", { id }, h("a", { href: href(benchmark.id, "board", board.name, board.round) }, called(board, benchmark.leaderboards))),
    h("p", { class: "note" }, `${titled(benchmark.id)}. ${benchmark.direction === "higher_is_better" ? "Higher" : "Lower"} is better.`),
    best(page, SHOWN, (row) => href(benchmark.id, "submission", row.submission)),
  );
}

/** Which boards are shown, to be chosen anew. */
function choice(benchmarks, shown) {
  const key = (benchmark, board) => JSON.stringify([benchmark.id, board.name, board.round]);
  const chosen = new Set(shown.map(({ benchmark, board }) => key(benchmark, board)));
  const box = (benchmark, board) => h("label", {}, h("input", { type: "checkbox", value: key(benchmark, board), checked: chosen.has(key(benchmark, board)) }), ` ${called(board, benchmark.leaderboards)}`);
  const group = (benchmark) => h("fieldset", {}, h("legend", {}, titled(benchmark.id)), benchmark.leaderboards.map((board) => box(benchmark, board)));
  const form = h("form", { class: "choice" }, benchmarks.filter(({ leaderboards }) => leaderboards.length > 0).map(group), h("button", { type: "submit" }, "Show these"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const boards = [...form.querySelectorAll(":checked")].flatMap((input) => JSON.parse(input.value));
    location.hash = href("boards", ...boards);
  });
  return h("details", { open: shown.length === 0 }, h("summary", {}, "Choose boards"), form);
}

function view(title, benchmarks, shown, nodes, columns) {
  return { title, nodes: [...nodes, choice(benchmarks, shown), h("div", { class: "columns" }, columns)] };
}

/** The boards of one benchmark. */
export async function benchmark(benchmarks, id) {
  const of = benchmarks.find((known) => known.id === id);
  if (!of) throw new Error("This benchmark does not exist. Start at the list of benchmarks.");
  const shown = of.leaderboards.map((board) => ({ benchmark: of, board }));
  const columns = await Promise.all(shown.map(({ board }) => column(of, board)));
  const nodes = [crumbs(["Benchmarks", "#/"], [titled(id)]), h("h1", {}, titled(id)), h("p", { class: "lead" }, prose(capital(of.about)), `. ${some(columns.length, "board")}.`)];
  return { ...view(titled(id), benchmarks, shown, nodes, columns), benchmark: id };
}

/** Boards of several benchmarks; `words` are benchmark, leaderboard and round of each. */
export async function boards(benchmarks, words) {
  const wanted = [];
  for (let idx = 0; idx + 2 < words.length; idx += 3) wanted.push(words.slice(idx, idx + 3));
  const shown = wanted.flatMap(([id, name, round]) => {
    const of = benchmarks.find((known) => known.id === id);
    const board = of?.leaderboards.find((known) => known.name === name && known.round === round);
    return board ? [{ benchmark: of, board }] : [];
  });
  const columns = await Promise.all(shown.map(({ benchmark: of, board }) => column(of, board)));
  const nodes = [crumbs(["Benchmarks", "#/"], ["Boards side by side"]), h("h1", {}, "Boards side by side"), shown.length < wanted.length ? h("p", { class: "note" }, `${some(wanted.length - shown.length, "board")} of this address ${wanted.length - shown.length === 1 ? "does" : "do"} not exist.`) : null];
  return view("Boards side by side", benchmarks, shown, nodes, columns.length > 0 ? columns : h("p", { class: "empty" }, "Choose boards above."));
}
