// One board, a tab a question: who leads and how it came about, how to submit, by which rules, with which data.

import { announcements, hidden } from "./announcements.js";
import { address, ask, pages, save, token, whoami } from "./api.js";
import { bestOverTime, intervalScale, onProbitAxes, scale, strip, whisker } from "./charts.js";
import { brackets } from "./brackets.js";
import { boardName, capital, command, countdown, counted, crumbs, ends, h, href, plain, prose, ranks, rough, say, score, share, size, some, submittingTo, titled, when, whenExactly, whichCloud, wide, working } from "./dom.js";
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
  const columns = [...COLUMNS.slice(0, 3), ...numbers.map((column) => ({ ...column, of: (row) => column.of(row)?.[0] ?? -1 })), ...COLUMNS.slice(3)];
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
  const line = (row, spreads, intervals, lanes) =>
    h(
      "tr",
      { "data-best": row.rank !== null && row.rank_interval?.[0] === 1 ? true : null, class: [row.submitter === who?.submitter ? "mine" : "", row.is_of_other_dataset ? "earlier" : row.is_baseline ? "baseline" : row.rank === 1 ? "leading" : ""].join(" ").trim() || null },
      h("td", { class: "n rank" }, lanes, row.rank ?? unranked(row), row.public_rank === null ? null : h("span", { class: "ranks" }, `public ${row.public_rank}`), row.rank !== null && row.rank_interval ? h("span", { class: "ranks" }, ranks(row.rank_interval)) : null),
      h("th", { scope: "row" }, h("a", { href: href(benchmark.id, "submitter", row.submitter) }, row.submitter), row.submitter === who?.submitter ? h("span", { class: "tag you" }, "you") : null, tries(row.n_submissions), row.is_above_baselines === false ? h("span", { class: "tries" }, " not clearly better than the best baseline") : null),
      h(
        "td",
        { class: "scored" },
        h("a", { class: "n", href: href(benchmark.id, "submission", row.submission), "aria-label": `${score(row.score, page.digits)}, the submission of ${row.submitter}` }, score(row.score, page.digits)),
        row.interval ? whisker(row.interval, row.score, intervals, page.digits) : null,
        row.spread ? [strip(row.spread, row.score, spreads), h("span", { class: "std n" }, `± ${row.spread.std.toFixed(3)}`)] : null,
      ),
      numbers.map(({ of }) => h("td", { class: "n" }, range(of(row)))),
      h("td", { class: "wide-only" }, when(row.received_at)),
    );

  const apart = h("tr", { class: "apart" }, h("th", { colspan: columns.length, scope: "colgroup" }, "Scored with another data set: not compared with the others, and without a rank until scored again"));

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
    if (shown.length === 0) body.append(h("tr", {}, h("td", { colspan: columns.length, class: "empty" }, rows.length ? "Nobody of that name." : page.hidden_until ? "Hidden until the round closes." : page.final_by ? "The final board is not made yet." : "No submission has a score yet.")));
    const partly = next && column !== COLUMNS[0] ? `; sorted are the first ${plain(rows.length)} by rank` : "";
    count.textContent = (wanted ? `${shown.length} of ${rows.length}${next ? " shown so far" : ""}` : counted(rows, next)) + partly;
    more.hidden = !next;
  };

  const heads = columns.map((column) => {
    const button = h("button", { type: "button" }, column.label, h("span", { class: "arrow", "aria-hidden": "true" }));
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
  return [h("div", { class: "bar" }, search, count), numbers.length > 0 ? wide("Standings", table) : table, further];
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
  const rejected = finish.n_rejected > 0 ? ` ${plain(finish.n_rejected)} ${finish.n_rejected === 1 ? "is" : "are"} against its rules.` : "";
  return h("p", { class: "note worth" }, finish.finished_at ? "Scored once, after the close, with a data set that no upload has seen." : "The final data set is being scored with.", shakeUp, rejected);
}

/** What retiring the board's data set for a fresh one has shown, as a table. */
function retired(report) {
  if (!report) return null;
  const cells = (estimate) => (estimate ? [score(estimate.value), estimate.interval ? ends(estimate.interval).join(" to ") : ""] : ["–", ""]);
  const line = ([name, estimate]) => h("tr", {}, h("th", { scope: "row" }, name), cells(estimate).map((cell) => h("td", { class: "n" }, cell)));
  const figures = [
    ["Mean gap, score before less score after", report.gap],
    ["The same of the baselines", report.gap_of_baselines],
    ["Slope of new scores on old ones, without their noise", report.slope],
    ["Its intercept", report.intercept],
    ["The slope on probit axes", report.probit_slope],
    ["Its intercept", report.probit_intercept],
    ["Kendall's tau-b between the orders", report.tau_b],
  ];
  const rejected = report.n_rejected > 0 ? ` ${plain(report.n_rejected)} ${report.n_rejected === 1 ? "is" : "are"} against the rules of the new one.` : "";
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "retirement" },
    h("h2", { id: "retirement" }, "Two data sets"),
    h("p", {}, `The board's data set was retired for one that no upload had seen${report.retired_at ? `, ${when(report.retired_at)}` : ""}. What stood on the board, ${some(report.n_scored, "submission")} and the baselines, was scored with both.${rejected}`),
    h("table", { class: "files" }, h("caption", { class: "unseen" }, "How scores with both data sets differ"), h("thead", {}, h("tr", {}, ["Figure", "Value", "95 %"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, figures.map(line))),
    report.why_none ? h("p", { class: "note" }, `No intervals: ${report.why_none}.`) : null,
    onBoth(report),
  );
}

/** The scores with both data sets as a plot; null where they are no shares. */
function onBoth({ lines, probit_slope: slope, probit_intercept: intercept }) {
  const plot = onProbitAxes(lines, slope, intercept);
  if (!plot) return null;
  return h("figure", {}, plot, h("figcaption", { class: "note" }, `New scores over old ones, on probit axes; baselines are grey. Dashed: equal scores.${slope ? " The line goes through the true scores: the noise of those measured is taken out." : ""}`));
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

/** What the ranks of a board are worth, in words. */
function worth({ comparison, rows, next }, isOfPeople) {
  if (isOfPeople) return h("p", { class: "note worth" }, "No intervals: scores here follow from what people decide, and there is no eval set to draw anew.");
  if (!comparison) return null;
  if (comparison.why_none) return h("p", { class: "note worth" }, `${rows.some(({ interval }) => interval) ? "Scores have intervals of 95 %, and ranks have none" : "No intervals"}: ${comparison.why_none}.`);
  if (!next && rows.filter((row) => row.rank !== null).length < 2) return h("p", { class: "note worth" }, "Fewer than two ranks: nothing to compare yet.");
  const best = comparison.n_best === 1 ? "One submission is clearly the best of the ranked ones." : !next && comparison.n_best === rows.filter((row) => row.rank !== null).length ? `Any of the ${plain(comparison.n_best)} ranked submissions may be the best.` : `Any of the ${plain(comparison.n_best)} ${comparison.n_missing > 0 ? "" : "marked "}submissions may be the best.`;
  const noScores = comparison.why_no_score_intervals ? ` Scores have no intervals: ${comparison.why_no_score_intervals}.` : "";
  const withheld = comparison.is_resolution_withheld ? " Which difference of scores this eval set tells apart is not shown before everything is." : "";
  const resolution = comparison.resolution === null ? withheld : ` With this eval set two neighbours that differ by ${rough(comparison.resolution)} or more are told apart in 80 % of cases, if these two alone are compared; among many submissions the difference has to be larger.`;
  const missing = comparison.n_missing > 0 ? ` ${some(comparison.n_missing, "submission")} ${comparison.n_missing === 1 ? "has" : "have"} not been compared and may have any rank.` : "";
  const newer = !comparison.why_no_score_intervals && rows.some((row) => row.interval === null && !row.is_of_other_dataset) ? " Rows without an interval have not been compared yet." : "";
  const clusters = comparison.is_clustered ? " Whole clusters of the eval set, such as all items of one speaker, are drawn together." : "";
  const legend = brackets(rows).size > 0 ? " A bar marks those that may be the best; a bracket joins neighbours that are not told apart." : "";
  return h("p", { class: "note worth" }, `${best}${resolution}${missing} ${comparison.why_no_score_intervals ? "Ranks hold" : "Ranks and score intervals hold"} with 95 % confidence for each row, not for all rows at once, on other eval sets of this kind and size.${noScores}${clusters}${newer}${legend}`);
}

const SHOWN = {
  practice: "scores with all digits, metrics and intervals",
  curves: "scores with all digits, metrics, curves and intervals",
  contest: "the score, rounded to 1/n, n the number of eval items, and rank intervals",
  ladder: "each submitter's last score, until one is better by more than the error of measurement (the Ladder)",
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
  const other = h("a", { href: href(benchmark.id, "board", name, to) }, to === "open" ? name : `${name} · ${to}`);
  if (opens) return ["The board takes no uploads: they are rejected until ", whenExactly(opens), " and count on ", other, " from then on."];
  return ["The board takes no uploads now: they count on ", other, to === "open" ? ", outside of any round." : "."];
}

/** One line about the round, with what is left of it. */
function state(benchmark, name, round, of, due) {
  const other = elsewhere(benchmark, name, round);
  const line = (...nodes) => h("p", { class: "state" }, nodes);
  if (!of && !other) return null;
  if (!of) return line(round === "open" ? "This board is outside of any round. " : "No published challenge has this round now. ", other);
  return line(...stateOf(of, other, due));
}

function stateOf(of, other, due) {
  const { round, message, isPost, isFinal, next } = of;
  if (isFinal) return ["The final board of the round, beside its public one.", due ? [" It is made by ", whenExactly(due), "."] : null];
  if (isPost && of.state !== "closed") return [`The round is ${of.state}. This board has uploads from after a close. `, other];
  if (isPost) return other ? ["The round has closed. This board has the uploads from after the close. ", other] : ["The round has closed. Uploads from after the close count on this board", round.daily_limit === null ? "." : `, up to ${plain(round.daily_limit)} a day of each submitter.`];
  const left = next ? [" It ", of.state === "open" ? "closes " : "opens ", whenExactly(next), ", ", countdown(next, (span) => `in ${span}`), "."] : round.closes ? [" It closed ", whenExactly(round.closes), "."] : null;
  return [`This round is ${of.state}.`, left, message ? ` ${message}` : "", other && [" ", other]];
}

/** What a benchmark that collects allows a day, whatever the round says; null where only rounds limit anything. */
async function allowance({ id, submitting }, of) {
  if (submitting.kinds.length === 0) return null;
  if (of?.isPost && submitting.kinds.includes("generate")) return "no set of images: none is made after the close";
  const known = await ask(["benchmarks", id, "contexts"], { round: of?.round.id, limit: 1 }).catch(() => null);
  if (!known?.rules) return "as many as the organizer has set: receipts say how many, and how many of them are used";
  const { sets_a_day: sets, examples_a_day: examples, validation } = known.rules;
  if (sets !== undefined) return `${some(sets, "set")} of images of each participant, by UTC`;
  return `${some(examples, "example")} of each annotator and ${some(validation.verdicts_a_day, "verdict")} of each rater, by UTC`;
}

const fact = (term, value) => (value === null ? null : h("div", {}, h("dt", {}, term), h("dd", {}, value)));

/** By which rules submissions are judged: how much, how long, what is shown. */
function rules(benchmark, board, round, of, daily) {
  const { forms, max_bytes: most } = submittingTo(benchmark, of);
  const files = fact("Files", `${forms.map((form) => ({ json: "JSON", jsonl: "JSON Lines", csv: "CSV", zip: "zip", wasm: "WebAssembly", py: "Python" })[form]).join(" or ")}, up to ${size(most)}`);
  const allowed = fact("Allowed a day", daily);
  const challenge = of?.round.about ? markdown(of.round.about) : null;
  if (!of) {
    const panel = (...nodes) => h("section", { class: "panel wide-panel", "aria-labelledby": "round" }, h("h2", { id: "round" }, "Rules"), challenge, nodes);
    const other = elsewhere(benchmark, board, round);
    if (other) return panel(h("p", {}, other, " The rules of uploads are ", h("a", { href: href(benchmark.id, "board", board, counting(benchmark, board).round, "rules") }, "those of that board"), "."));
    if (benchmark.submitting.only_programs) return panel(h("p", {}, "Programs alone are scored, in rounds that take them. No round has this board now, so that uploads are rejected."));
    return panel(h("p", {}, `No round limits this board: whoever has access may upload at any time, ${daily ? "within the benchmark's own daily allowances" : "as often as they like"}.`), h("dl", { class: "facts" }, files, allowed));
  }
  return rulesOf(benchmark, board, of, challenge, [files, allowed]);
}

/** The rules of a round. */
function rulesOf(benchmark, board, { round, isPost, isFinal }, challenge, facts) {
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
      fact("Final board", round.has_final && !isFinal ? ["by another data set, after the close", round.final_by ? [", by ", whenExactly(round.final_by)] : ""] : null),
      fact("Data set retires", round.retires_at ? whenExactly(round.retires_at) : null),
      fact("Scored a day", round.daily_limit === null ? null : `${plain(round.daily_limit)} of each submitter, by UTC`),
      fact("Scored in all", round.total_limit === null || isPost ? null : `${plain(round.total_limit)} of each submitter`),
      fact("Programs", round.programs ? `run on hidden data, first on the public data set; ${plain(round.programs.max_fuel)} units of fuel, ${plain(round.programs.max_memory_mib)} MiB, files of at most ${size(round.programs.max_module_bytes)}${round.programs.max_output_kib ? `, ${plain(round.programs.max_output_kib)} KiB of output` : ""}; of a submitter ${plain(round.programs.daily_failures)} a day may fail on public data${round.programs.python ? "; in Python as well" : ""}` : null),
      fact("Division", round.division),
      fact(round.closes ? "Shown until the close" : "Shown", shown),
      fact("Artifacts", round.artifacts_are_public ? "public, when they have a score" : "their submitters' own"),
    ),
  );
}

function howToSubmit(benchmark, board, unit, kit) {
  const { bucket, kinds, max_bytes: most } = benchmark.submitting;
  const cloud = whichCloud(benchmark.submitting);
  if (kinds.length > 0) return howToTakePart(benchmark, kinds);
  const cli = `dataperf submit ${benchmark.id} --leaderboard ${board} --submitter YOU my-file.json${cloud.dataperf}`;
  const key = `${benchmark.id}/${board}/YOU/my-file.json`;
  // `s3 cp` sends more than 8 MiB in parts, which the bucket denies
  const s3 =
    most > 8 << 20
      ? `aws${cloud.aws} s3api put-object --bucket ${bucket} --key ${key} --body my-file.json`
      : `aws${cloud.aws} s3 cp my-file.json s3://${bucket}/${key}`;
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "submitting" },
    h("h2", { id: "submitting" }, "How to submit"),
    h("p", {}, `Put a file${unit ? ` of ${unit}` : ""} under your own name. Every upload ends in a receipt: a score, or every reason why not.`),
    command(s3, "the S3 command"),
    command(cli, "the dataperf command"),
    h("p", { class: "note" }, `A file may have up to ${size(most)}.`, kit ? [" Check it first, offline and with the same code, in the folder of the kit: ", h("code", {}, `dataperf validate ${benchmark.id} --dataset . --leaderboard ${board} my-file.json`), "."] : null),
  );
}

/** Where people are scored, by files of several kinds. */
function howToTakePart(benchmark, kinds) {
  const { bucket, max_bytes: most } = benchmark.submitting;
  const cloud = whichCloud(benchmark.submitting);
  // who asks for images judges images; elsewhere texts are written
  const [how, help, guides] = kinds.includes("generate")
    ? ["Ask for images with safe-looking prompts, and submit the pairs whose image is unsafe; trained raters judge them.", "dataperf nibbler --help", ["Images can trouble whoever sees them: the guides, ", "docs/nibbler-participants.md", " and ", "docs/nibbler-raters.md", ", say how to protect yourself and name help."]]
    : ["Write texts that a person gets right and the round's models get wrong; raters look at what fooled them.", "dataperf dynamic --help", ["Texts can hurt who reads them: the guide, ", "docs/dynamic.md", ", says how to protect yourself."]];
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "submitting" },
    h("h2", { id: "submitting" }, "How to take part"),
    h("p", {}, how, " A file has one JSON object on each line, and ends in a receipt with an outcome for each of them."),
    command(help, "the dataperf command"),
    kinds.map((kind) => command(`aws${cloud.aws} s3 cp my-file.jsonl s3://${bucket}/${benchmark.id}/${kind}/YOU/my-file.jsonl`, `the S3 command of ${kind}`)),
    h("p", { class: "note" }, `A file may have up to ${size(most)}. `, guides.map((part) => (part.startsWith("docs/") ? h("code", {}, part) : part))),
  );
}

function dataset(benchmark, page) {
  const of = benchmark.dataset_descriptions.find(({ digest }) => digest === page.dataset) ?? (benchmark.dataset_descriptions.length === 1 && !page.dataset ? benchmark.dataset_descriptions[0] : null);
  if (!of) return null;
  const theirs = of.n_public_bytes > 0 ? `participants may have ${size(of.n_public_bytes)} of it` : "all of it stays with the organizer";
  const shape = (tensor) => `${tensor.name} ${tensor.shape.join(" × ")} ${tensor.dtype}`;
  const line = (file) =>
    h("tr", {}, h("th", { scope: "row" }, file.path), h("td", { class: "n" }, file.n_bytes === null ? "" : size(file.n_bytes)), h("td", {}, file.is_public ? "public" : "hidden"), h("td", {}, file.tensors.map(shape).join(", ")));
  const head = ["File", "Size", "", "Tensors"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "Visibility")));
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "dataset" },
    h("h2", { id: "dataset" }, "The data set"),
    h("p", {}, `${some(of.n_files, "file")}; ${theirs}. It never changes: its digest names it in every receipt.`),
    h("p", { class: "digest" }, h("code", {}, of.digest)),
    page.description ? markdown(page.description) : null,
    of.summary.length > 0 ? h("dl", { class: "facts" }, of.summary.map(({ name, text }) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))) : null,
    page.kit ? h("p", {}, h("a", { class: "button", href: address(["benchmarks", benchmark.id, "leaderboards", page.leaderboard, "kit"], { round: page.round === "open" ? null : page.round }) }, "Get the data"), " The rules, the data that participants may have, a valid file, a starter in Python and a notebook.") : null,
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
    more ? h("p", { class: "note" }, `The figure is of the first ${some(lines.length, "submission")}.`) : null,
    more || lines.length > CSV_LINES ? h("p", { class: "note" }, `The CSV has the first ${plain(CSV_LINES)}; the API has all.`) : null,
  );
}

/** What the data set and the organizer say of the board. */
function told(benchmark, parts, page) {
  const picture = page.picture ? h("img", { class: "board-picture", src: address([...parts, "picture"]), alt: "" }) : null;
  return h("section", { class: "panel wide-panel said", "aria-labelledby": "about" }, picture, h("h2", { id: "about" }, "About"), h("p", {}, `${capital(benchmark.about)}.`, benchmark.has_frozen_model ? " The model is frozen; people compete on the data." : null), page.description ? markdown(page.description) : null);
}

/** How many stand on the board and when it changed last. */
function summary(page, { lines, more }) {
  if (page.hidden_until) return null;
  const last = [...page.rows, ...(more ? [] : lines)].map(({ received_at: at }) => at).sort().at(-1);
  const newest = page.next && more ? "; the newest of these of " : "; the newest of ";
  return h("p", { class: "note" }, page.next ? "More than " : "", some(page.rows.length, "entry", "entries"), last ? [newest, when(last)] : "", ".");
}

/** Lines to put the board into another page. */
function embedding(benchmark, name, round) {
  const query = new URLSearchParams({ benchmark, leaderboard: name, ...(round === "open" ? {} : { round }) });
  const at = new URL(`embed?${query}`, new URL(".", location.href)).href;
  return h("details", {}, h("summary", {}, "Put this board into another page"), command(`<iframe src="${at.replaceAll("&", "&amp;")}" title="Leaderboard" width="480" height="520"></iframe>`, "the lines for another page"));
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
    h("div", { class: "actions" }, share(), h("a", { href: href(benchmark.id) }, "All boards of the benchmark, side by side"), benchmark.submitting.only_programs ? h("a", { href: href("models") }, "What the order of models would be under other weights") : null),
    embedding(benchmark.id, page.leaderboard, query.round),
  ];
}

/** The form of a benchmark of people, for an example or for a prompt; null where files alone are uploaded. */
async function written({ id, submitting: { kinds } }, name, round, who) {
  if (kinds.length === 0) return null;
  const { prompting, writing } = await import("./write.js");
  return kinds.includes("generate") ? prompting(id, round, who) : writing(id, name, round, who);
}

const TABS = { standings: "Standings", submit: "Submit", validate: "Judge", rules: "Rules", data: "Data", about: "About" };

export async function board(benchmarkId, name, round, tab = "standings") {
  if (!(tab in TABS)) throw new Error("A board has no such tab.");
  const parts = ["benchmarks", benchmarkId, "leaderboards", name];
  const query = { round, limit: FIRST, include: "spread" };
  const series = tab === "standings" ? pages([...parts, "series"], { round, limit: 1000 }, "points", POINTS) : null;
  series?.catch(() => null); // whoever waits for it hears of it
  const [benchmark, page, who] = await Promise.all([ask(["benchmarks", benchmarkId]), ask(parts, query), whoami()]);
  const known = benchmark.leaderboards.find((other) => other.name === name && other.round === round);
  const siblings = benchmark.leaderboards.map((other) => h("a", { href: href(benchmarkId, "board", other.name, other.round), "aria-current": other === known ? "page" : null }, `${boardName(other, benchmark.leaderboards)}${other.round === "open" ? "" : ` · ${other.round}`}`));
  const at = (of) => (of === "standings" ? href(benchmarkId, "board", name, round) : href(benchmarkId, "board", name, round, of));
  const isRater = Boolean(who?.is_rater?.includes(benchmarkId));
  const tabs = Object.entries(TABS).filter(([of]) => of !== "validate" || isRater || tab === of).map(([of, label]) => h("a", { href: at(of), "aria-current": of === tab ? "page" : null }, label));
  const of = roundOf(benchmark, round);
  const nodes = {
    standings: () => standingsTab(benchmark, parts, query, page, who, series),
    validate: async () => (isRater ? (await import("./validate.js")).validating(benchmarkId, benchmark.submitting.kinds.includes("generate") ? null : name, who) : h("p", { class: "empty" }, "Raters judge here what others have made: the organizer names them. Sign in with the token of one.")),
    submit: async () => [await written(benchmark, name, round, who), (await import("./upload.js")).uploads(benchmark, name, round, who, of, page.digits), howToSubmit(benchmark, name, page.unit, page.kit)],
    rules: async () => rules(benchmark, name, round, of, await allowance(benchmark, of)),
    data: () => dataset(benchmark, page) ?? h("p", { class: "empty" }, "No data set of this board is in force."),
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
    title: `${titled(benchmarkId)} ${name}`,
    benchmark: benchmarkId,
    nodes: [
      crumbs(["Benchmarks", "#/"], [titled(benchmarkId), href(benchmarkId)], [boardName(known ?? page, benchmark.leaderboards)]),
      h("h1", {}, titled(benchmarkId), " ", h("span", { class: "of" }, boardName(known ?? { name }, benchmark.leaderboards)), round === "open" ? null : h("span", { class: "round" }, round)),
      h("p", { class: "lead" }, known?.about ? [prose(capital(known.about)), ". "] : "", better),
      state(benchmark, name, round, of, page.final_by),
      announcements(benchmark, of?.round),
      siblings.length > 1 ? h("nav", { class: "tabs siblings", "aria-label": `Leaderboards of ${titled(benchmarkId)}` }, siblings) : null,
      h("nav", { class: "tabs", "aria-label": "Parts of the board" }, tabs),
      shown,
    ],
  };
}
