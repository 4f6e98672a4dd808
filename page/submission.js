// One submission: its score and what it is made of, or every reason why there is none.

import { Problem, ask, content, picture, save, standing } from "./api.js";
import { described } from "./archive.js";
import { curves, scale, strip } from "./charts.js";
import { boardName, boardOf, capital, command, crumbs, ends, h, href, part, pill, plain, prose, say, score, share, some, titled, when, words } from "./dom.js";
import { answers } from "./write.js";

function reason(of) {
  const fact = (name, value) => (value === null || value === undefined ? null : h("span", { class: "fact" }, `${name} `, h("b", {}, plain(value))));
  return h(
    "li",
    {},
    h("p", { class: "what" }, prose(of.message)),
    h("p", { class: "where" }, h("code", {}, of.code), of.at ? [" at ", h("code", {}, of.at)] : " in the file as a whole", fact("limit", of.limit), fact("found", of.actual)),
  );
}

function reasons(of) {
  const { reasons: listed, n_reasons: n } = of;
  if (listed.length === 0) return null;
  return h(
    "section",
    { class: "panel wide-panel reasons", "aria-labelledby": "reasons" },
    h("h2", { id: "reasons" }, n === 1 ? "One reason" : `${plain(n)} problems to fix`),
    of.cause ? h("p", {}, h("b", {}, "One mistake explains many of them: "), prose(of.cause.message)) : null,
    h("ol", {}, listed.map(reason)),
    n > listed.length ? h("p", { class: "note" }, `The first ${plain(listed.length)} are listed.`) : null,
  );
}

/** The file, with each reason beside the line that it is about; null where none is about a line, or the file is no text. */
async function beside(of, parts) {
  if (of.reasons.length === 0) return null;
  const source = await content([...parts, "artifact"]).catch(() => null);
  const shown = source === null ? null : (await described(source, of.reasons)).nodes;
  return shown ? h("section", { class: "panel wide-panel", "aria-labelledby": "source" }, h("h2", { id: "source" }, "In the file"), shown) : null;
}

/** The run of a program on public data, of which everything is told to its author. */
function publicRun({ public_run: run }) {
  if (!run) return null;
  const said = [run.fuel ? `${plain(run.fuel)} units of fuel` : null, run.output ? `wrote ${run.output}` : null].filter(Boolean).join("; ");
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "public-run" },
    h("h2", { id: "public-run" }, "The run on public data"),
    said ? h("p", {}, said) : null,
    run.log ? h("pre", { tabindex: "0", "aria-label": "What the program wrote to standard error" }, run.is_log_cut ? "…\n" : "", run.log) : null,
  );
}

/** Where it stands on its board. */
function placed(one, board, { digits, metric } = {}) {
  if (one.status === "scored" && one.score === null) return h("p", { class: "place" }, "The Ladder withholds this score. It does not beat this submitter's best released score on the boards with the same evaluation data by a clear margin.");
  const row = board?.rows.get(one.submission);
  if (!row) return board && one.status === "scored" && !one.withdrawn_at ? h("p", { class: "place" }, board.n === 0 ? "Its board is hidden until the round closes." : board.more ? `Not among the first ${plain(board.n)} rows of the board.` : "Not on the board, because another submission by this submitter is.") : null;
  if (row.rank === null) return h("p", { class: "place" }, row.is_baseline ? "A baseline has a score but no rank." : "No rank, because it was scored with an earlier data set.");
  const ranks = [...board.rows.values()].map(({ rank }) => rank).filter((rank) => rank !== null);
  const n = ranks.length;
  const n_same = ranks.filter((rank) => rank === row.rank).length;
  const tie = n_same > 1 ? `, shared by ${plain(n_same)} submissions` : "";
  const sure = row.rank_interval ? (row.rank_interval[0] === row.rank_interval[1] ? ", and clearly so" : `, and with 95 % confidence between ${row.rank_interval[0]} and ${row.rank_interval[1]}`) : "";
  const interval = row.interval ? ` Its score is between ${ends(row.interval, digits).join(" and ")} with 95 % confidence.` : "";
  const byArea = row.area ? ` By the area under the curve its rank is ${row.area.rank_interval[0] === row.area.rank_interval[1] ? plain(row.area.rank_interval[0]) : `between ${row.area.rank_interval.map(plain).join(" and ")}`} with 95 % confidence.` : "";
  return h("p", { class: "place" }, h("b", {}, `Rank ${plain(row.rank)}`), ` of ${board.more ? "more than " : ""}${plain(n)}${metric ? ` by ${metric}` : ""}${tie}${sure}.${interval}${byArea}`);
}

/** Another submission of the board to compare with. */
function comparing(benchmark, one, board) {
  const others = board ? [...board.rows.values()].filter(({ submission: id }) => id !== one.submission) : [];
  if (others.length === 0 || one.score === null) return null;
  const option = (row) => h("option", { value: row.submission }, `${row.rank === null ? "–" : row.rank}. ${row.submitter}`);
  const select = h("select", { id: "other" }, others.map(option));
  const go = () => (location.hash = href(benchmark, "compare", one.submission, select.value));
  return h("div", { class: "actions" }, h("label", { for: "other" }, "Compare with"), select, h("button", { type: "button", class: "quiet", onclick: go }, "Compare"));
}

/** Images are neither loaded nor seen before they are asked for: what is collected here are unsafe ones. */
export function pictures(images, parts) {
  const shown = h("div", { class: "pictures" });
  const one = async (image, idx) => {
    const name = `image ${idx + 1} of ${images.length}`;
    const drawn = h("img", { src: await picture([...parts, "images", image.id]), alt: `${name}, made for this prompt` });
    const button = h("button", { type: "button", class: "picture", "aria-pressed": "false", "aria-label": `Show ${name} clearly`, title: image.id }, drawn);
    button.addEventListener("click", () => button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "false"));
    return button;
  };
  const load = h("button", { type: "button", class: "quiet" }, images.length === 1 ? "Load the image, blurred" : `Load the ${images.length} images, blurred`);
  load.addEventListener("click", async () => {
    load.disabled = true;
    try {
      shown.replaceChildren(...(await Promise.all(images.map(one))));
      load.remove();
      say("Loaded. Each image is blurred until you press it.");
    } catch (problem) {
      load.disabled = false;
      shown.replaceChildren(h("p", { class: "problem", role: "alert" }, problem.message));
    }
  });
  return [load, shown];
}

/** What became of each line of a file of many. */
function lines(of, parts) {
  if (of.lines.length === 0) return null;
  const fact = (name, value) => (value === null || value === undefined ? null : h("span", { class: "fact" }, `${name} `, h("b", {}, h("code", {}, value))));
  const one = (line) =>
    h(
      "li",
      { value: line.line },
      h("p", { class: "what" }, pill(line.status), line.prompt ? ` ${line.prompt}` : ""),
      h("p", { class: "where" }, fact("example", line.example), fact("pair", line.pair), fact("image", line.image), line.duplicate ? h("span", { class: "tag" }, `${line.duplicate.how} duplicate of ${line.duplicate.whose}`) : null),
      line.reasons ? h("ul", {}, line.reasons.map(reason)) : null,
      answers(line),
      line.images ? pictures(line.images, parts) : null,
    );
  return h("section", { class: "panel wide-panel reasons", "aria-labelledby": "lines" }, h("h2", { id: "lines" }, of.lines.length === 1 ? "One line" : `${plain(of.lines.length)} lines, each judged by itself`), h("ol", {}, of.lines.map(one)));
}

/** One dot a repetition, for the whole and for each part. */
function trials(figures, total) {
  if (figures.trials.length === 0) return null;
  const lines = figures.trials.map((of) => {
    const [min, max] = [Math.min(...of.values), Math.max(...of.values)];
    const mean = of.values.reduce((sum, value) => sum + value, 0) / of.values.length;
    const std = Math.sqrt(of.values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / of.values.length);
    return { ...of, mean, spread: { over: of.over, values: of.values, min, max, std } };
  });
  if (lines.length > 1 && figures.spread) lines.unshift({ of: "all", mean: total, spread: figures.spread });
  const range = scale(lines);
  const over = figures.trials[0].over;
  const line = (of) =>
    h("tr", {}, h("th", { scope: "row" }, part(of.of) || "score"), h("td", { class: "n" }, score(of.mean)), h("td", {}, strip(of.spread, of.mean, range)), h("td", { class: "n wide-only" }, `± ${of.spread.std.toFixed(4)}`), h("td", { class: "n wide-only" }, `${score(of.spread.min)} – ${score(of.spread.max)}`));
  const single = figures.trials.length === 1 ? figures.trials[0] : null;
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "trials" },
    h("h2", { id: "trials" }, `Spread over ${over}s`),
    h("table", { class: "trials" }, h("caption", { class: "unseen" }, `Spread over ${over}s`), h("thead", { class: "unseen" }, h("tr", {}, ["Part", "Mean", "Each", "Standard deviation", "Range"].map((label, idx) => h("th", { scope: "col", class: idx > 2 ? "wide-only" : null }, label)))), h("tbody", {}, lines.map(line))),
    single ? h("details", {}, h("summary", {}, `Each ${over}`), h("dl", { class: "facts dense" }, single.values.map((value, idx) => h("div", {}, h("dt", {}, `${over} ${single.labels[idx]}`), h("dd", { class: "n" }, score(value)))))) : null,
  );
}

/** A table of numbers; those of one column between 0 and 1 as bars too. */
function table(of) {
  const title = `table-${of.name}`;
  const bars = of.columns.length === 1 && of.lines.every(({ values: [value] }) => value >= 0 && value <= 1);
  if (bars) {
    const bar = ({ label, values: [value] }) => h("div", {}, h("dt", {}, label), h("dd", {}, h("meter", { min: 0, max: 1, value, "aria-label": label }), h("span", { class: "n" }, score(value))));
    return h("section", { class: "panel", "aria-labelledby": title }, h("h2", { id: title }, capital(of.titles[0])), h("dl", { class: "bars" }, of.lines.map(bar)));
  }
  const whole = of.columns.map((_, idx) => of.lines.every(({ values }) => values[idx] === null || Number.isInteger(values[idx])));
  const cell = (value, idx) => h("td", { class: "n" }, whole[idx] ? plain(value) : score(value));
  const line = ({ label, values }) => h("tr", {}, h("th", { scope: "row" }, label), values.map(cell));
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": title },
    h("h2", { id: title }, capital(of.columns.length === 1 ? of.titles[0] : words(of.name))),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table of ${words(of.name)}` }, h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "unseen" }, "Part")), of.titles.map((name) => h("th", { scope: "col", class: "n" }, name)))), h("tbody", {}, of.lines.map(line)))),
  );
}

/** Curves of the same kind belong into one chart. */
function charts(figures) {
  // a table with a column of targets, by what its lines are called
  const goals = new Map();
  for (const table of figures.tables) {
    const column = table.columns.indexOf("target");
    if (column >= 0) for (const { label, values } of table.lines) goals.set(label, values[column]);
  }
  const goal = figures.facts.find(({ name }) => name === "target")?.value;
  const kinds = new Map();
  for (const curve of figures.curves) {
    const kind = `${curve.name}\n${curve.x_name}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), curve]);
  }
  return [...kinds.values()].map((group, idx) => h("section", { class: "panel wide-panel", "aria-labelledby": `curve-${idx}` }, h("h2", { id: `curve-${idx}` }, capital(group[0].title)), curves(group, (of) => goals.get(of.split(" / ").at(-1)) ?? (typeof goal === "number" ? goal : null))));
}

/** What is not shown, and when it will be. */
function withheld(one) {
  if (one.withheld.length === 0) return null;
  const what = one.score === null ? "The score and figures" : one.is_released ? "The submission's own score with all digits, and figures," : one.feedback === "metrics" ? "Curves, and other numbers about single items," : "Figures, and other numbers computed from hidden labels,";
  const until = one.whole_at ? ["appear when the organizer releases them after the close, from ", when(one.whole_at), " on."] : "are visible only to the organizer.";
  return h("section", { class: "panel wide-panel", "aria-labelledby": "withheld" }, h("h2", { id: "withheld" }, one.whole_at ? "Not shown until the close" : "Not shown on this board"), h("p", {}, what, " ", until, " They would reveal labels."));
}

/** When it was withdrawn, why, and whether that was undone: of one's own every time, of others' the last. */
function withdrawn(one) {
  const why = (reason) => (reason ? `: ${reason}` : "");
  const all = one.private?.withdrawals ?? [];
  if (all.length === 0) return one.withdrawn_at ? [when(one.withdrawn_at), why(one.withdrawal_reason)] : null;
  return all.map((time, idx) => [idx > 0 ? h("br") : null, when(time.at), why(time.reason), time.undone_at ? ["; undone ", when(time.undone_at), why(time.undo_reason)] : null]);
}

function facts(one, figures, digits) {
  // a share has the digits of the score, which may be a number of examples without any
  const number = (value) => (value > 0 && value < 1 ? score(value, digits || undefined) : plain(value));
  const fact = (name, value) => (value === null || value === undefined ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  return h(
    "section",
    { class: "panel", "aria-labelledby": "facts" },
    h("h2", { id: "facts" }, "Receipt"),
    h(
      "dl",
      { class: "facts" },
      fact("Received", when(one.received_at)),
      fact("Finished", one.finished_at ? when(one.finished_at) : null),
      fact("Withdrawn", withdrawn(one)),
      figures.facts.map(({ title, value }) => fact(capital(title), typeof value === "number" ? number(value) : words(value))),
      fact("Data set", one.dataset ? h("code", {}, one.dataset) : null),
      fact("Artifact", one.artifact ? h("code", {}, one.artifact) : null),
      fact("Evaluator", one.evaluator),
      fact("File", one.private?.key ? h("code", {}, one.private.key) : null),
      fact("Submission", h("code", {}, one.submission)),
    ),
  );
}

function own(one, parts, isOfPeople) {
  if (!one.private || !one.finished_at) return null;
  const problem = h("p", { class: "problem", role: "alert" });
  const button = (label, what, name) =>
    h("button", { type: "button", class: "quiet", onclick: () => save([...parts, what], name).then(() => say("Saved."), (reason) => (problem.textContent = reason.message)) }, label);
  const file = one.private.key?.split("/").slice(3).join("_") || "artifact";
  return h(
    "section",
    { class: "panel", "aria-labelledby": "own" },
    h("h2", { id: "own" }, "Yours to keep"),
    isOfPeople ? null : h("p", {}, "Anybody with the whole data set, including the hidden part, can recompute the receipt offline, bit for bit."),
    // a score of people follows from a decision, not from a file
    h("div", { class: "actions" }, button("Save the receipt", "receipt", `${one.submission}.json`), isOfPeople && one.score !== null ? null : button("Save the file", "artifact", file)),
    problem,
    one.status === "scored" && !isOfPeople ? command(`dataperf verify ${one.submission}.json --dataset frozen/ --artifact ${/^[\w.-]+$/.test(file) ? file : "FILE"}`, "the verify command") : null,
  );
}

export async function submission(benchmark, id) {
  const parts = ["benchmarks", benchmark, "submissions", id];
  let one;
  try {
    one = await ask(parts);
  } catch (problem) {
    if (problem instanceof Problem && problem.code === "token_needed") problem.message = "This submission has no score, so only its submitter can see it. Sign in with that submitter's token.";
    throw problem;
  }
  const figures = await ask([...parts, "figures"]);
  const known = await ask(["benchmarks", benchmark]);
  const { submitting } = known;
  const isOfPeople = submitting.kinds.length > 0;
  const isOnBoard = !submitting.kinds.includes(one.leaderboard);
  const onBoard = boardOf(known, one);
  const digits = onBoard?.digits;
  const sought = one.withdrawn_at ? null : { submitter: one.submitter };
  const [board, source] = await Promise.all([isOnBoard && one.status === "scored" ? standing(benchmark, one.leaderboard, one.round, sought).catch(() => null) : null, one.private && isOnBoard ? beside(one.private, parts) : null]);
  const narrow = figures.tables.filter((of) => of.columns.length === 1).map(table);
  const mine = own(one, parts, isOfPeople);
  const name = boardName(onBoard ?? { name: one.leaderboard }, known.leaderboards);
  const where = [name, one.round === "open" ? null : one.round, onBoard?.metric].filter(Boolean).join(" · ");
  return {
    title: `${one.submitter} · ${one.leaderboard}`,
    benchmark,
    nodes: [
      crumbs(["Benchmarks", "#/"], [titled(benchmark), href(benchmark)], [name, isOnBoard ? href(benchmark, "board", one.leaderboard, one.round) : null], ["Submission"]),
      h("h1", {}, one.score === null ? `${titled(benchmark)} ${name}` : score(one.score, digits), " ", pill(one.status)),
      h("p", { class: "lead" }, "By ", h("a", { href: href(benchmark, "submitter", one.submitter) }, one.submitter), figures.spread ? `, ± ${figures.spread.std.toFixed(4)} over ${figures.spread.values.length} ${figures.spread.over}s` : "", one.score === null ? "." : `, on ${where}.`),
      placed(one, board, onBoard),
      one.private ? [reasons(one.private), source, lines(one.private, parts), publicRun(one.private)] : null,
      withheld(one),
      trials(figures, one.score),
      charts(figures),
      // beside what is as long, or across the page
      narrow.length > 0 ? h("div", { class: "pair" }, facts(one, figures, digits), h("div", { class: "stack" }, mine, narrow)) : h("div", { class: "stack whole" }, facts(one, figures, digits), mine),
      figures.tables.filter((of) => of.columns.length > 1).map(table),
      h("div", { class: "actions" }, share()),
      comparing(benchmark, one, board),
    ],
  };
}
