// One board, a tab a question: who leads and how it came about, how to submit, by which rules, with which data.

import { announcements, hidden } from "./announcements.js";
import { address, ask, pages, save, token, whoami } from "./api.js";
import { bestOverTime, intervalScale, onProbitAxes, scale, strip, whisker } from "./charts.js";
import { brackets } from "./brackets.js";
import { boardName, boardNamed, capital, command, countdown, counted, crumbs, ends, h, href, plain, prose, rough, say, score, share, size, some, submittingTo, titled, when, whenExactly, whichCloud, wide, working, zone } from "./dom.js";
import { keep, takesDrops } from "./drop.js";
import { markdown } from "./markdown.js";

const FIRST = 100;
const POINTS = 5000; // a chart shows no more
const CSV_LINES = 1000;

// The order of the API is the order of ranks, with baselines, which have none, in their places, and scores of another data set behind all.
const COLUMNS = [
  { label: "Rank", first: 1, of: (_, place) => place },
  { label: "Submitter", first: 1, of: ({ submitter }) => submitter.toLowerCase() },
  { label: "Score", first: -1, of: ({ score }) => score },
  { label: "Received", first: -1, of: ({ received_at: at }) => at, wide: true },
];

/** The numbers of a row that a column shows; null where it lacks one. */
function numbersOf(row, names) {
  const found = names.map((name) => row.metrics?.[name]);
  return found.every((number) => number !== undefined) ? found : null;
}

/** The table with its search, its sorting and its further pages. */
function standings(benchmark, parts, query, page, who) {
  // what the benchmark shows beside the score: a number, or the two ends of a range, by which rows are sorted from the first one on
  const numbers = page.columns.map(({ title, metrics }) => ({ label: capital(title), first: -1, look: "n", of: (row) => numbersOf(row, metrics) }));
  // fractions of fixes have the area under the curve beside them; rounded scores have its ranks alone
  const hasAreas = page.rows.some(({ area }) => area);
  const showsAreas = page.rows.some(({ area }) => area && area.value !== null);
  const byArea = hasAreas ? [{ label: showsAreas ? "Area" : "Ranks by area", first: showsAreas ? -1 : 1, look: "n", of: ({ area }) => (showsAreas ? (area?.value ?? -1) : (area?.rank_interval[0] ?? Number.POSITIVE_INFINITY)) }] : [];
  const scored = page.metric ? { ...COLUMNS[2], metric: page.metric } : COLUMNS[2];
  const received = page.rows.length > 0 ? { ...COLUMNS[3], metric: zone(page.rows[0].received_at) } : COLUMNS[3];
  const columns = [...COLUMNS.slice(0, 2), scored, ...byArea, ...numbers.map((column) => ({ ...column, of: (row) => column.of(row)?.[0] ?? -1 })), received];
  let rows = page.rows;
  let next = page.next;
  let sorted = { column: COLUMNS[0], direction: 1 };
  let wanted = "";
  const body = h("tbody");
  const count = h("p", { class: "count", role: "status" });
  const more = h("button", { type: "button", class: "quiet" }, "Show more");

  const unranked = (row) => h("span", { class: "tag" }, row.is_of_other_dataset ? "earlier data set" : "baseline");
  const tries = (n) => (n > 1 ? h("span", { class: "tries" }, ` ${plain(n)} tries`) : null);
  const range = (ends) => (ends ? [...new Set(ends.map(plain))].join(" to ") : "–");
  const areaOf = (area) => (area ? [area.value === null ? null : score(area.value, page.digits), area.interval ? h("span", { class: "tries" }, ` ${ends(area.interval, page.digits).join(" to ")}`) : null, h("span", { class: "ranks" }, `ranks by area ${range(area.rank_interval)}`)] : "–");
  const line = (row, spreads, intervals, lanes) =>
    h(
      "tr",
      { "data-best": row.rank !== null && row.rank_interval?.[0] === 1 ? true : null, class: [row.submitter === who?.submitter ? "mine" : "", row.is_of_other_dataset ? "earlier" : row.is_baseline ? "baseline" : row.rank === 1 ? "leading" : ""].join(" ").trim() || null },
      h("td", { class: "n rank" }, lanes, row.rank ?? unranked(row), row.public_rank === null ? null : h("span", { class: "ranks" }, `public ${row.public_rank}`), row.rank !== null && row.rank_interval && row.rank_interval[0] < row.rank_interval[1] ? h("span", { class: "ranks" }, range(row.rank_interval)) : null),
      h("th", { scope: "row" }, h("a", { href: href(benchmark.id, "submitter", row.submitter) }, row.submitter), row.submitter === who?.submitter ? h("span", { class: "tag you" }, "you") : null, tries(row.n_submissions), row.is_above_baselines === false ? h("span", { class: "tries" }, " not clearly better than the best baseline") : null),
      h(
        "td",
        { class: "scored" },
        h("a", { class: "n", href: href(benchmark.id, "submission", row.submission), "aria-label": `${score(row.score, page.digits)}, the submission of ${row.submitter}` }, score(row.score, page.digits)),
        row.interval ? [h("span", { class: "ends n" }, ends(row.interval).join(" to ")), whisker(row.interval, row.score, intervals, page.digits)] : null,
        row.spread ? [strip(row.spread, row.score, spreads), h("span", { class: "std n" }, `± ${row.spread.std.toFixed(3)}`)] : null,
      ),
      byArea.map(() => h("td", { class: "n" }, areaOf(row.area))),
      numbers.map(({ of }) => h("td", { class: "n" }, range(of(row)))),
      h("td", { class: "wide-only" }, when(row.received_at)),
    );

  const apart = h("tr", { class: "apart" }, h("th", { colspan: columns.length, scope: "colgroup" }, "These rows were scored with another data set. They get a rank when they are scored again."));

  const draw = () => {
    const { column, direction } = sorted;
    const compare = (a, b) => (a.by < b.by ? -direction : a.by > b.by ? direction : 0);
    const keyed = rows.map((row, place) => ({ row, by: column.of(row, place) }));
    const shown = keyed.filter(({ row }) => row.submitter.toLowerCase().includes(wanted)).sort(compare).map(({ row }) => row);
    // scores of two data sets stand apart, however the table is sorted
    const current = shown.filter((row) => !row.is_of_other_dataset);
    const earlier = shown.filter((row) => row.is_of_other_dataset);
    const spreads = scale(rows);
    const intervals = intervalScale(rows);
    // groups of neighbours are seen in the order of ranks only
    const joined = column === COLUMNS[0] && direction === 1 ? brackets(current) : new Map();
    const drawn = (row) => line(row, spreads, intervals, joined.get(row.submission));
    body.replaceChildren(...current.map(drawn), ...(earlier.length > 0 ? [apart] : []), ...earlier.map(drawn));
    if (shown.length === 0) body.append(h("tr", {}, h("td", { colspan: columns.length, class: "empty" }, rows.length ? "Nobody of that name." : page.hidden_until ? "Hidden until the round closes." : page.final_by ? "The final board is not ready yet." : "No submission has a score yet.")));
    const partly = next && column !== COLUMNS[0] ? `; only the first ${plain(rows.length)} by rank are sorted` : "";
    count.textContent = (wanted ? `${shown.length} of ${rows.length}${next ? " shown so far" : ""}` : counted(rows, next)) + partly;
    more.hidden = !next;
  };

  const heads = columns.map((column) => {
    const button = h("button", { type: "button" }, column.label, h("span", { class: "arrow", "aria-hidden": "true" }), column.metric ? h("span", { class: "metric" }, ` ${column.metric}`) : null);
    const head = h("th", { scope: "col", class: column.wide ? "wide-only" : column.look }, button);
    button.addEventListener("click", () => {
      sorted = sorted.column === column ? { column, direction: -sorted.direction } : { column, direction: column.first };
      mark();
      draw();
      say(`Sorted by ${column.label.toLowerCase()}.`);
    });
    return head;
  });
  const mark = () => {
    columns.forEach((column, idx) => {
      if (sorted.column === column) heads[idx].setAttribute("aria-sort", sorted.direction > 0 ? "ascending" : "descending");
      else heads[idx].removeAttribute("aria-sort");
    });
  };

  const further = working(more, async () => {
    const following = await ask(parts, { ...query, cursor: next });
    rows = [...rows, ...following.rows];
    next = following.next;
    draw();
  });
  const search = h("input", { type: "search", id: "search", placeholder: "Search submitters", "aria-label": "Search submitters", autocomplete: "off" });
  search.addEventListener("input", () => {
    wanted = search.value.trim().toLowerCase();
    draw();
  });
  const table = h("table", { class: "standings" }, h("caption", { class: "unseen" }, "Standings"), h("thead", {}, h("tr", {}, heads)), body);
  mark();
  draw();
  return [h("div", { class: "bar" }, search, count), columns.length > COLUMNS.length ? wide("Standings", table) : table, further];
}

/** What leads to a CSV file. A link sends no token: where there is one the file is fetched with it, because what a caller may see follows from it. */
function csv(parts, query, name, label) {
  const wanted = { ...query, format: "csv" };
  if (!token.get()) return h("a", { href: address(parts, wanted), download: name }, label);
  return h("span", {}, working(h("button", { type: "button", class: "quiet" }, label), () => save(parts, name, wanted).then(() => say("Saved."))));
}

/** How the board of a final data set differs from the public one. */
function shaken({ finish }) {
  if (!finish) return null;
  const shakeUp = finish.shake_up === null ? "" : ` The shake-up is ${finish.shake_up.toFixed(3)}: the mean change of rank, as a share of ${some(finish.n_ranked, "submission")}.`;
  const rejected = finish.n_rejected > 0 ? ` ${plain(finish.n_rejected)} ${finish.n_rejected === 1 ? "breaks" : "break"} its rules.` : "";
  return h("p", { class: "note worth" }, finish.finished_at ? "After the close, the platform scored these submissions once, with a data set that no upload has seen." : "The platform is scoring submissions with the final data set.", shakeUp, rejected);
}

/** What retiring the board's data set for a fresh one has shown, as a table. */
function retired(report) {
  if (!report) return null;
  const cells = (estimate) => (estimate ? [score(estimate.value), estimate.interval ? ends(estimate.interval).join(" to ") : ""] : ["–", ""]);
  const line = ([name, estimate]) => h("tr", {}, h("th", { scope: "row" }, name), cells(estimate).map((cell) => h("td", { class: "n" }, cell)));
  const figures = [
    ["Mean gap: score before minus score after", report.gap],
    ["Mean gap of the baselines", report.gap_of_baselines],
    ["Slope of new scores on old ones, corrected for noise", report.slope],
    ["Its intercept", report.intercept],
    ["The slope on probit axes", report.probit_slope],
    ["Its intercept", report.probit_intercept],
    ["Kendall's tau-b between the orders", report.tau_b],
  ];
  const rejected = report.n_rejected > 0 ? ` ${plain(report.n_rejected)} ${report.n_rejected === 1 ? "breaks" : "break"} the rules of the new one.` : "";
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "retirement" },
    h("h2", { id: "retirement" }, "Two data sets"),
    h("p", {}, `A data set that no upload had seen replaced the board's data set${report.retired_at ? `, ${when(report.retired_at)}` : ""}. The platform scored ${some(report.n_scored, "submission")} and the baselines with both.${rejected}`),
    h("table", { class: "files" }, h("caption", { class: "unseen" }, "How scores with both data sets differ"), h("thead", {}, h("tr", {}, ["Figure", "Value", "95 %"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, figures.map(line))),
    report.why_none ? h("p", { class: "note" }, `No intervals: ${report.why_none}.`) : null,
    onBoth(report),
  );
}

/** The scores with both data sets as a plot; null where they are no shares. */
function onBoth({ lines, probit_slope: slope, probit_intercept: intercept }) {
  const plot = onProbitAxes(lines, slope, intercept);
  if (!plot) return null;
  return h("figure", {}, plot, h("figcaption", { class: "note" }, `New scores against old ones, on probit axes. Baselines are grey. The dashed line marks equal scores.${slope ? " The line estimates true scores, without measurement noise." : ""}`));
}

/** The report of a round whose data set has been retired; null before all is scored. */
async function retirement(benchmark, parts, name) {
  const round = benchmark.challenge?.rounds.find(({ id }) => id === name);
  if (!round?.retires_at || Date.parse(round.retires_at) > Date.now()) return null;
  return ask([...parts, "retirement"], { round: name, limit: 200 }).catch((problem) => {
    if (!["not_retired", "hidden_board"].includes(problem.code)) console.error(problem); // the rest of the board is shown
    return null;
  });
}

/** What the ranks by the area under the curve are worth; nothing where rows are not compared by it. */
function byArea({ n_best_by_area: n, n_missing: missing }) {
  if (!n) return "";
  const best = n === 1 ? "one submission is clearly the best" : `any of ${plain(n)} submissions may be the best`;
  const others = missing > 0 ? ` ${some(missing, "submission")} ${missing === 1 ? "has" : "have"} no curve to compare, and may have any rank.` : "";
  return ` By the area under the curve, ${best}. Ranks by area hold with 95 % confidence for each row, not for all rows at once. They say nothing about ranks by the score.${others}`;
}

/** What the ranks of a board are worth, in words. */
function worth({ comparison, rows, next }, isOfPeople) {
  if (isOfPeople) return h("p", { class: "note worth" }, "No intervals: scores here come from people's decisions, not from a test set.");
  if (!comparison) return null;
  if (comparison.why_none) {
    const lacking = rows.some(({ interval }) => interval) ? "Scores have 95 % intervals, but ranks have none" : comparison.n_best_by_area ? "No intervals of scores" : "No intervals";
    return h("p", { class: "note worth" }, `${lacking}: ${comparison.why_none}.${byArea(comparison)}`);
  }
  if (!next && rows.filter((row) => row.rank !== null).length < 2) return h("p", { class: "note worth" }, "Fewer than two ranks: nothing to compare yet.");
  const best = comparison.n_best === 1 ? "One submission is clearly the best." : !next && comparison.n_best === rows.filter((row) => row.rank !== null).length ? `The ${plain(comparison.n_best)} ranked submissions are tied for first.` : `${comparison.n_missing > 0 ? "At least " : "The "}${plain(comparison.n_best)} ${comparison.n_missing > 0 ? "" : "marked "}submissions are tied for first.`;
  const noScores = comparison.why_no_score_intervals ? ` Scores have no intervals: ${comparison.why_no_score_intervals}.` : "";
  const withheld = comparison.is_resolution_withheld ? " Before the close, only the organizer sees the smallest meaningful difference of scores." : "";
  const resolution = comparison.resolution === null ? withheld : ` This test set can usually (80 % of the time) separate two scores that differ by ${rough(comparison.resolution)} or more. With many submissions the difference must be larger.`;
  const missing = comparison.n_missing > 0 ? ` ${some(comparison.n_missing, "submission")} ${comparison.n_missing === 1 ? "has" : "have"} not been compared and may have any rank.` : "";
  const newer = !comparison.why_no_score_intervals && rows.some((row) => row.interval === null && !row.is_of_other_dataset) ? " Rows without an interval have not been compared yet." : "";
  const clusters = comparison.is_clustered ? " Related items, such as all clips of one speaker, count together." : "";
  const legend = brackets(rows).size > 0 ? " A bar marks submissions that may be the best. A bracket joins neighbors that this test set can't separate." : "";
  const hold = comparison.why_no_score_intervals ? "Ranks hold" : "Ranks and score intervals hold";
  return [
    h("p", { class: "note worth" }, `${best}${resolution}${missing}`),
    h("details", { class: "note" }, h("summary", {}, "How to read ranks and intervals"), h("p", {}, `${hold} with 95 % confidence for each row, not for all rows at once, on other test sets of this kind and size.${noScores}${clusters}${newer}${legend}`)),
  ];
}

const SHOWN = {
  practice: "scores with all digits, metrics and intervals",
  curves: "scores with all digits, metrics, curves and intervals",
  contest: "your score, rounded, and rank intervals",
  ladder: "each submitter's last released score; a new score replaces it if it is better by more than the measurement error (the Ladder)",
  blind: "nothing",
};

/** The round that a board is of: whether it is open, what participants are told, and how long it lasts. */
function roundOf(benchmark, name) {
  const round = benchmark.challenge?.rounds.find(({ id }) => [id, `${id}.post`, `${id}.final`].includes(name));
  if (!round) return null;
  const now = Date.now();
  const isBefore = now < Date.parse(round.opens);
  const isClosed = Boolean(round.closes) && now >= Date.parse(round.closes);
  const [state, message] = isBefore ? ["not open yet", round.message_before] : isClosed ? ["closed", round.message_after] : ["open", round.message_open];
  return { round, state, message, isPost: name === `${round.id}.post`, isFinal: name === `${round.id}.final`, next: isBefore ? round.opens : isClosed ? null : round.closes };
}

/** Where uploads to a leaderboard count now: in the round that has opened last, after its close on the board of uploads since then, and outside of any round where none has the leaderboard. `opens` is set before the first one opens: until then they are rejected. */
function counting({ challenge }, name) {
  const rounds = (challenge?.rounds ?? []).filter(({ leaderboards }) => leaderboards.length === 0 || leaderboards.includes(name)).sort((a, b) => Date.parse(a.opens) - Date.parse(b.opens));
  const isPast = (time) => time !== null && Date.parse(time) <= Date.now();
  if (rounds.length === 0) return { round: "open", opens: null };
  const begun = rounds.findLast(({ opens }) => isPast(opens));
  if (!begun) return { round: rounds[0].id, opens: rounds[0].opens };
  return { round: isPast(begun.closes) ? `${begun.id}.post` : begun.id, opens: null };
}

/** That a board takes no uploads, and which one does; null where it takes them. */
function elsewhere(benchmark, name, round) {
  const { round: to, opens } = counting(benchmark, name);
  if (to === round) return null;
  const called = boardNamed(benchmark, name);
  const other = h("a", { href: href(benchmark.id, "board", name, to) }, to === "open" ? called : `${called} · ${to}`);
  if (opens) return ["This board rejects uploads until ", whenExactly(opens), ". From then on, they go to ", other, "."];
  return ["New uploads go to ", other, to === "open" ? ", which belongs to no round." : "."];
}

/** One line about the round, with what is left of it. */
function state(benchmark, name, round, of, due) {
  const other = elsewhere(benchmark, name, round);
  const line = (...nodes) => h("p", { class: "state" }, nodes);
  if (!of && !other) return null;
  if (!of) return line(round === "open" ? "This board belongs to no round. " : "The published challenge no longer has this round. ", other);
  return line(...stateOf(of, other, due));
}

function stateOf(of, other, due) {
  const { round, message, isPost, isFinal, next } = of;
  if (isFinal) return ["This is the round's final board.", due ? [" It will be ready by ", whenExactly(due), "."] : null];
  if (isPost && of.state !== "closed") return [`The round is ${of.state}. This board is for uploads after its close. `, other];
  if (isPost) return other ? ["The round has closed. This board has late uploads. ", other] : ["The round has closed. Late uploads count on this board", round.daily_limit === null ? "." : `, up to ${plain(round.daily_limit)} a day for each submitter.`];
  const left = next ? [" It ", of.state === "open" ? "closes " : "opens ", whenExactly(next), ", ", countdown(next, (span) => `in ${span}`), "."] : round.closes ? [" It closed ", whenExactly(round.closes), "."] : null;
  return [`This round is ${of.state}.`, left, message ? ` ${message}` : "", other && [" ", other]];
}

/** What a benchmark that collects allows a day, whatever the round says; null where only rounds limit anything. */
async function allowance({ id, submitting }, of) {
  if (submitting.kinds.length === 0) return null;
  if (of?.isPost && submitting.kinds.includes("generate")) return "no sets of images after the close";
  const known = await ask(["benchmarks", id, "contexts"], { round: of?.round.id, limit: 1 }).catch(() => null);
  if (!known?.rules) return "as many as the organizer allows; receipts show how many are used";
  const { sets_a_day: sets, examples_a_day: examples, validation } = known.rules;
  if (sets !== undefined) return `${some(sets, "set")} of images for each participant; a day is a day in UTC`;
  return `${some(examples, "example")} for each annotator and ${some(validation.verdicts_a_day, "verdict")} for each rater; a day is a day in UTC`;
}

const fact = (term, value) => (value === null ? null : h("div", {}, h("dt", {}, term), h("dd", {}, value)));

/** What every board has rules about: what a score is, who ranks before whom. */
function scoring(page) {
  const counted = { best: "each submitter's best score", latest: "each submitter's latest score", all: "every scored submission" }[page.ranking];
  return [
    fact("Score", page.metric ?? null),
    fact("Model", page.model ?? null),
    fact("Counts", counted),
    fact("Ties", "equal scores share a rank; the earlier upload is listed first"),
  ];
}

/** The form of a file and the rules of the data set, with an example. */
function form(benchmark, page) {
  const rules = datasetOf(benchmark, page)?.rules;
  return rules ? h("section", { class: "panel wide-panel said", "aria-label": "Form of a file, and rules" }, markdown(rules, 1)) : null;
}

/** By which rules submissions are judged: how much, how long, what is shown. */
function rules(benchmark, page, round, of, daily) {
  const board = page.leaderboard;
  const { forms, max_bytes: most } = submittingTo(benchmark, of);
  const files = fact("Files", `${forms.map((form) => ({ json: "JSON", jsonl: "JSON Lines", csv: "CSV", zip: "zip", wasm: "WebAssembly", py: "Python" })[form]).join(" or ")}, up to ${size(most)}`);
  const allowed = fact("Allowed a day", daily);
  const challenge = of?.round.about ? markdown(of.round.about) : null;
  if (!of) {
    const panel = (...nodes) => h("section", { class: "panel wide-panel", "aria-labelledby": "round" }, h("h2", { id: "round" }, "Rules"), challenge, nodes);
    const other = elsewhere(benchmark, board, round);
    if (other) return panel(h("p", {}, other, " Uploads follow ", h("a", { href: href(benchmark.id, "board", board, counting(benchmark, board).round, "rules") }, "the rules of that board"), "."));
    if (benchmark.submitting.only_programs) return panel(h("p", {}, "This board takes programs, and only during rounds. No round is open now, so it rejects uploads."));
    return panel(h("p", {}, `No round limits this board: everybody with access may upload at any time, ${daily ? "within the benchmark's own daily allowances" : "as often as they like"}.`), h("dl", { class: "facts" }, scoring(page), files, allowed));
  }
  return rulesOf(of, challenge, [scoring(page), files, allowed]);
}

/** The organizer's address, as a link where it is one. */
function contact(text) {
  const to = /^https?:\/\/\S+$/.test(text) ? text : /^[^\s@/]+@[^\s@/]+$/.test(text) ? `mailto:${text}` : null;
  return to ? h("a", { href: to, rel: "noopener noreferrer nofollow" }, text) : text;
}

/** The terms of a round. */
function terms(of) {
  return of?.round.terms ? h("section", { class: "panel wide-panel said", "aria-labelledby": "terms" }, h("h2", { id: "terms" }, "Terms"), markdown(of.round.terms, 2)) : null;
}

/** The rules of a round. */
function rulesOf({ round, isPost, isFinal }, challenge, facts) {
  const shown = SHOWN[round.curves ? "curves" : round.ladder ? "ladder" : round.preset];
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "round" },
    h("h2", { id: "round" }, `${round.title}, ${round.id}`),
    challenge,
    h(
      "dl",
      { class: "facts" },
      fact("Opens", whenExactly(round.opens)),
      fact("Closes", round.closes ? whenExactly(round.closes) : "never"),
      facts,
      fact("Final board", round.has_final && !isFinal ? ["with another data set, after the close", round.final_by ? [", by ", whenExactly(round.final_by)] : ""] : null),
      fact("Data set retires", round.retires_at ? whenExactly(round.retires_at) : null),
      fact("Daily limit", round.daily_limit === null ? null : `${plain(round.daily_limit)} for each submitter; a day is a day in UTC`),
      fact("Total limit", round.total_limit === null || isPost ? null : `${plain(round.total_limit)} for each submitter`),
      fact("Programs", round.programs ? `run on public data first, then on hidden data; ${plain(round.programs.max_fuel)} units of fuel, ${plain(round.programs.max_memory_mib)} MiB, files of at most ${size(round.programs.max_module_bytes)}${round.programs.max_output_kib ? `, ${plain(round.programs.max_output_kib)} KiB of output` : ""}; a submitter may have ${plain(round.programs.daily_failures)} failures a day on public data${round.programs.python ? "; Python is allowed" : ""}` : null),
      fact("Division", round.division),
      fact("Contact", round.contact ? contact(round.contact) : null),
      fact(round.closes ? "Shown until the close" : "Shown", shown),
      fact("Artifacts", round.artifacts_are_public ? "public once they have a score" : "visible only to their submitters"),
    ),
  );
}

function howToSubmit(benchmark, board, unit, kit, of, who) {
  const { bucket, kinds, forms, max_bytes: most } = submittingTo(benchmark, of);
  const isProgram = forms.includes("wasm");
  const file = isProgram ? "my-program.wasm" : "my-file.json";
  const cloud = whichCloud(benchmark.submitting);
  const you = who?.submitter ?? "YOU";
  if (kinds.length > 0) return howToTakePart(benchmark, kinds, you);
  const cli = `dataperf submit ${benchmark.id} --leaderboard ${board} --submitter ${you} ${file}${cloud.dataperf}`;
  const key = `${benchmark.id}/${board}/${you}/${file}`;
  // `s3 cp` sends more than 8 MiB in parts, which the bucket denies
  const s3 =
    most > 8 << 20
      ? `aws${cloud.aws} s3api put-object --bucket ${bucket} --key ${key} --body ${file}`
      : `aws${cloud.aws} s3 cp ${file} s3://${bucket}/${key}`;
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "submitting" },
    h("h2", { id: "submitting" }, "How to submit"),
    h("p", {}, isProgram ? "Upload a program under your own name. It makes the file from data that nobody has seen." : `Upload a file${unit ? ` of ${unit}` : ""} under your own name.`, " You'll get a signed receipt with your score, or a list of everything to fix."),
    command(s3, "the S3 command"),
    command(cli, "the dataperf command"),
    h("p", { class: "note" }, `A file may have up to ${size(most)}.`, kit ? [" Check it first in the folder of the kit, offline with the same code: ", h("code", {}, isProgram ? `dataperf closed run ${file} --dataset . --leaderboard ${board}` : `dataperf validate ${benchmark.id} --dataset . --leaderboard ${board} ${file}`), "."] : null),
  );
}

/** Where people are scored, by files of several kinds. */
function howToTakePart(benchmark, kinds, you) {
  const { bucket, max_bytes: most } = benchmark.submitting;
  const cloud = whichCloud(benchmark.submitting);
  // who asks for images judges images; elsewhere texts are written
  const [how, help, guides] = kinds.includes("generate")
    ? ["Request images with safe-looking prompts, and submit the pairs with an unsafe image. Trained raters judge them.", "dataperf nibbler --help", ["Some images are upsetting. The guides, ", "docs/nibbler-participants.md", " and ", "docs/nibbler-raters.md", ", say how to protect yourself and where to find help."]]
    : ["Write texts that people get right and the round's models get wrong. Raters check them.", "dataperf dynamic --help", ["Some texts are upsetting to read. The guide, ", "docs/dynamic.md", ", says how to protect yourself."]];
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "submitting" },
    h("h2", { id: "submitting" }, "How to take part"),
    h("p", {}, how, " A file has one JSON object on each line. You get a receipt with an outcome for each line."),
    command(help, "the dataperf command"),
    kinds.map((kind) => command(`aws${cloud.aws} s3 cp my-file.jsonl s3://${bucket}/${benchmark.id}/${kind}/${you}/my-file.jsonl`, `the S3 command of ${kind}`)),
    h("p", { class: "note" }, `A file may have up to ${size(most)}. `, guides.map((part) => (part.startsWith("docs/") ? h("code", {}, part) : part))),
  );
}

/** The data set that a board is scored with. */
function datasetOf({ dataset_descriptions: all }, page) {
  return all.find(({ digest }) => digest === page.dataset) ?? (all.length === 1 && !page.dataset ? all[0] : null);
}

function dataset(benchmark, page) {
  const of = datasetOf(benchmark, page);
  if (!of) return null;
  const theirs = of.n_public_bytes > 0 ? `${size(of.n_public_bytes)} of them are for participants` : "all of them stay with the organizer";
  const shape = (tensor) => `${tensor.name} ${tensor.shape.join(" × ")} ${tensor.dtype}`;
  const line = (file) =>
    h("tr", {}, h("th", { scope: "row" }, file.path), h("td", { class: "n" }, file.n_bytes === null ? "" : size(file.n_bytes)), h("td", {}, file.is_public ? "public" : "hidden"), h("td", {}, file.tensors.map(shape).join(", ")));
  const head = ["File", "Size", "", "Tensors"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "Visibility")));
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "dataset" },
    h("h2", { id: "dataset" }, "The data set"),
    h("p", {}, `${some(of.n_files, "file")}; ${theirs}. A data set never changes. Every receipt names it by its digest.`),
    h("p", { class: "digest" }, h("code", {}, of.digest)),
    page.description ? markdown(page.description) : null,
    of.summary.length > 0 ? h("dl", { class: "facts" }, of.summary.map(({ name, text }) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))) : null,
    page.kit ? h("p", {}, h("a", { class: "button", href: address(["benchmarks", benchmark.id, "leaderboards", page.leaderboard, "kit"], { round: page.round === "open" ? null : page.round }) }, "Get the data"), " It contains the rules, the public data, a valid file, a starter in Python and a notebook.") : null,
    h("details", {}, h("summary", {}, "Files"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Files of the data set" }, h("table", { class: "files" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, of.files.map(line))))),
  );
}

function overTime({ lines, more }, parts, round, isBetter, digits) {
  const series = [...parts, "series"];
  if (lines.length === 0) return null;
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "over-time" },
    h("div", { class: "bar" }, h("h2", { id: "over-time" }, "Best over time"), csv(series, { round, limit: CSV_LINES }, "series.csv", "CSV")),
    bestOverTime(lines, isBetter, digits),
    more ? h("p", { class: "note" }, `The figure shows the first ${some(lines.length, "submission")}.`) : null,
    more || lines.length > CSV_LINES ? h("p", { class: "note" }, `The CSV has the first ${plain(CSV_LINES)}; the API has all.`) : null,
  );
}

/** What the data set and the organizer say of the board. */
function told(benchmark, parts, page) {
  const picture = page.picture ? h("img", { class: "board-picture", src: address([...parts, "picture"]), alt: "" }) : null;
  return h("section", { class: "panel wide-panel said", "aria-labelledby": "about" }, picture, h("h2", { id: "about" }, "About"), h("p", {}, `${capital(benchmark.about)}.`, benchmark.has_frozen_model ? " The model is fixed; you compete on the data." : null), page.description ? markdown(page.description) : null);
}

/** How many stand on the board and when it changed last. */
function summary(page, { lines, more }) {
  if (page.hidden_until) return null;
  const last = [...page.rows, ...(more ? [] : lines)].map(({ received_at: at }) => at).sort().at(-1);
  const newest = page.next && more ? "; the newest of these is from " : "; the newest is from ";
  return h("p", { class: "note" }, page.next ? "More than " : "", some(page.rows.length, "entry", "entries"), last ? [newest, when(last)] : "", ".");
}

/** Lines to put the board into another page. */
function embedding(benchmark, name, round) {
  const query = new URLSearchParams({ benchmark, leaderboard: name, ...(round === "open" ? {} : { round }) });
  const at = new URL(`embed?${query}`, new URL(".", location.href)).href;
  return h("details", {}, h("summary", {}, "Embed this board in another page"), command(`<iframe src="${at.replaceAll("&", "&amp;")}" title="Leaderboard" width="480" height="520"></iframe>`, "the lines for another page"));
}

async function standingsTab(benchmark, parts, query, page, who, series) {
  const isHigherBetter = benchmark.direction === "higher_is_better";
  const points = await series;
  const chart = overTime(points, parts, query.round, (a, b) => (isHigherBetter ? a > b : a < b), page.digits);
  const report = await retirement(benchmark, parts, query.round);
  return [
    h("section", { class: "panel wide-panel", "aria-labelledby": "standings" }, h("div", { class: "bar" }, h("h2", { id: "standings" }, "Standings"), csv(parts, { ...query, limit: 200 }, `${page.leaderboard}.csv`, page.next ? "CSV of the first 200" : "CSV")), summary(page, points), hidden(page), shaken(page), worth(page, benchmark.submitting.kinds.length > 0), standings(benchmark, parts, query, page, who)),
    retired(report),
    chart,
    h("div", { class: "actions" }, share(), h("a", { href: href(benchmark.id) }, "All boards of the benchmark, side by side"), benchmark.submitting.only_programs ? h("a", { href: href("models") }, "Rank models with other weights") : null),
    embedding(benchmark.id, page.leaderboard, query.round),
  ];
}

/** The form of a benchmark of people, for an example or for a prompt; null where files alone are uploaded. What is written counts `into` a round. */
async function written(benchmark, name, called, round, who, into) {
  const { id, submitting: { kinds } } = benchmark;
  if (kinds.length === 0) return null;
  const [{ prompting, writing }, { acceptance }] = await Promise.all([import("./write.js"), import("./consent.js")]);
  const terms = acceptance("terms-to-write", roundOf(benchmark, into)?.round, href(id, "board", name, into, "rules"));
  return kinds.includes("generate") ? prompting(id, round, who, terms) : writing(id, name, called, round, who, terms);
}

const TABS = { standings: "Standings", submit: "Submit", judge: "Judge", rules: "Rules", data: "Data", about: "About" };

/** The boards of the benchmark, and the rounds of this board: one choice each, where there is one. */
function siblingsOf(benchmark, name, round) {
  const all = benchmark.leaderboards;
  const link = (other, isCurrent, text) => h("a", { href: href(benchmark.id, "board", other.name, other.round), "aria-current": isCurrent ? "page" : null }, text);
  const choice = (label, links) => (links.length > 1 ? h("nav", { class: "tabs siblings", "aria-label": label }, links) : null);
  const boards = all.filter((other, place) => all.findIndex((first) => first.name === other.name) === place);
  const inRound = (other) => all.find((same) => same.name === other.name && same.round === round) ?? other;
  const rounds = all.filter((other) => other.name === name);
  return [
    choice(`Leaderboards of ${titled(benchmark.id)}`, boards.map((other) => link(inRound(other), other.name === name, boardName(other, all)))),
    choice("Rounds of the board", rounds.map((other) => link(other, other.round === round, roundName(benchmark, other.round)))),
  ];
}

/** A round, its board of late uploads or its final board, in words. */
function roundName(benchmark, name) {
  if (name === "open") return "No round";
  const of = roundOf(benchmark, name);
  if (of?.isPost) return `${of.round.id}, late uploads`;
  return of?.isFinal ? `${of.round.id}, final board` : name;
}

export async function board(benchmarkId, name, round, tab = "standings") {
  if (!(tab in TABS)) throw new Error("A board has no such tab.");
  const parts = ["benchmarks", benchmarkId, "leaderboards", name];
  const query = { round, limit: FIRST, include: "spread" };
  const series = tab === "standings" ? pages([...parts, "series"], { round, limit: 1000 }, "points", POINTS) : null;
  series?.catch(() => null); // whoever waits for it hears of it
  const [benchmark, page, who] = await Promise.all([ask(["benchmarks", benchmarkId]), ask(parts, query), whoami()]);
  const known = benchmark.leaderboards.find((other) => other.name === name && other.round === round);
  const called = boardName(known ?? page, benchmark.leaderboards);
  const siblings = siblingsOf(benchmark, name, round);
  const at = (of) => (of === "standings" ? href(benchmarkId, "board", name, round) : href(benchmarkId, "board", name, round, of));
  const isRater = Boolean(who?.is_rater?.includes(benchmarkId));
  const tabs = Object.entries(TABS).filter(([of]) => of !== "judge" || isRater || tab === of).map(([of, label]) => h("a", { href: at(of), "aria-current": of === tab ? "page" : null }, label));
  const of = roundOf(benchmark, round);
  const nodes = {
    standings: () => standingsTab(benchmark, parts, query, page, who, series),
    judge: async () => (isRater ? (await import("./validate.js")).validating(benchmarkId, benchmark.submitting.kinds.includes("generate") ? null : { task: name, called }, who) : h("p", { class: "empty" }, "Raters judge submissions here. Ask the organizer for a rater's token, and sign in with it.")),
    submit: async () => {
      // files of people count in the running round, whichever round the page shows
      const into = benchmark.submitting.kinds.length > 0 ? counting(benchmark, name).round : round;
      return [await written(benchmark, name, called, round, who, into), (await import("./upload.js")).uploads(benchmark, page, into, who, roundOf(benchmark, into)), howToSubmit(benchmark, name, page.unit, page.kit, of, who)];
    },
    rules: async () => [rules(benchmark, page, round, of, await allowance(benchmark, of)), form(benchmark, page), terms(of)],
    data: () => dataset(benchmark, page) ?? h("p", { class: "empty" }, "This board has no active data set."),
    about: () => told(benchmark, parts, page),
  };
  const better = /is better/.test(known?.about ?? "") ? "" : benchmark.direction === "higher_is_better" ? "Higher is better." : "Lower is better.";
  const shown = h("div", { class: "tabbed" }, [await nodes[tab]()].flat(Infinity).filter(Boolean));
  if (tab !== "submit")
    takesDrops(shown, (file) => {
      keep(file);
      location.hash = at("submit");
    });
  return {
    title: `${titled(benchmarkId)} ${called}`,
    benchmark: benchmarkId,
    nodes: [
      crumbs(["Benchmarks", "#/"], [titled(benchmarkId), href(benchmarkId)], [called]),
      h("h1", {}, titled(benchmarkId), " ", h("span", { class: "of" }, called), round === "open" ? null : h("span", { class: "round" }, round)),
      h("p", { class: "lead" }, known?.about ? [prose(capital(known.about)), ". "] : "", better),
      state(benchmark, name, round, of, page.final_by),
      announcements(benchmark, of?.round),
      siblings,
      h("nav", { class: "tabs", "aria-label": "Parts of the board" }, tabs),
      shown,
    ],
  };
}
