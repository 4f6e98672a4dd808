// The organizer's view: the rounds in the order of time, failed and unfinished submissions, submitters, identical files, tokens. Nothing is changed from here:
// the read API may only read, so the page shows commands.

import { ask, pages, whoami } from "./api.js";
import { command, countdown, crumbs, h, href, plain, prose, some, titled, when, whenExactly, whichCloud, wide } from "./dom.js";

const SHOWN = 50; // of each benchmark; the command line lists all
const COMPARED = 10_000; // files of a board
const LISTED = 500; // submitters of a benchmark

const line = (benchmark) => (one) =>
  h(
    "tr",
    {},
    h("td", {}, titled(benchmark.id)),
    h("td", {}, one.leaderboard),
    h("th", { scope: "row" }, h("a", { href: href(benchmark.id, "submitter", one.submitter) }, one.submitter)),
    h("td", {}, one.status === "failed" ? "failed" : "not ended"),
    h("td", {}, when(one.received_at)),
    h("td", {}, h("a", { href: href(benchmark.id, "submission", one.submission) }, one.submission.slice(0, 8))),
  );

async function waiting(benchmark) {
  const of = (what) => ask(["benchmarks", benchmark.id, what], { limit: SHOWN });
  const [failed, unfinished] = await Promise.all([of("failed"), of("unfinished")]);
  return { benchmark, lines: [...failed.submissions, ...unfinished.submissions], nFailed: failed.submissions.length, more: failed.next || unfinished.next };
}

/** What several submitters have handed in, in whatever order and form, each with its submissions. */
function shared(files) {
  const same = new Map();
  for (const file of files) same.set(file.content, [...(same.get(file.content) ?? []), file]);
  return [...same.values()].filter((of) => new Set(of.map(({ submitter }) => submitter)).size > 1);
}

/** Who has handed in the same file as somebody else: looked for on a click, because all files of a board are read for it. */
function identical(benchmarks, cloud) {
  const boards = benchmarks.filter(({ has_files: hasFiles }) => hasFiles).flatMap(({ id, leaderboards }) => leaderboards.map(({ name, round }) => ({ id, name, round })));
  if (boards.length === 0) return null;
  const choice = h("select", { id: "board-of-files" }, boards.map(({ id, name, round }, idx) => h("option", { value: idx }, `${titled(id)}, ${name}${round === "open" ? "" : `, ${round}`}`)));
  const button = h("button", { type: "button" }, "Compare its files");
  const found = h("div", { "aria-live": "polite" });
  const row = (id) => (one, idx, all) => h("tr", {}, idx === 0 ? h("th", { scope: "rowgroup", rowspan: all.length, title: one.content }, h("code", {}, one.content.slice(0, 19))) : null, h("td", {}, h("a", { href: href(id, "submitter", one.submitter) }, one.submitter), one.is_baseline ? h("span", { class: "tag" }, "baseline") : null), h("td", {}, when(one.received_at)), h("td", {}, h("a", { href: href(id, "submission", one.submission) }, one.submission.slice(0, 8))));
  const said = ({ id, name }, { lines, more }) => {
    const same = shared(lines);
    const n = `${some(lines.length, "scored file")} of ${name} ${lines.length === 1 ? "was" : "were"} compared`;
    const rest = more ? [h("p", { class: "note" }, `The board has more files. This command compares all of them:`), command(`dataperf submitter identical ${id} --several${cloud.dataperf}`, "the command to compare all files")] : null;
    if (same.length === 0) return [h("p", { class: "empty" }, `${n}: no two submitters uploaded the same file.`), rest];
    const head = ["File", "Submitter", "Received", "Submission"].map((label) => h("th", { scope: "col" }, label));
    return [h("p", {}, `${n}: ${some(same.length, "file")} from more than one submitter. That isn't necessarily cheating: it may be a baseline or the example from the kit.`), wide("Files from several submitters", h("table", { class: "files" }, h("thead", {}, h("tr", {}, head)), same.map((of) => h("tbody", {}, of.map(row(id)))))), rest];
  };
  button.addEventListener("click", async () => {
    const board = boards[choice.value];
    button.disabled = true;
    found.replaceChildren(h("p", {}, "Reading …"));
    try {
      const files = await pages(["benchmarks", board.id, "leaderboards", board.name, "files"], { round: board.round, limit: 200 }, "files", COMPARED);
      found.replaceChildren(...said(board, files).flat(Infinity).filter(Boolean));
    } catch (problem) {
      found.replaceChildren(h("p", { class: "problem", role: "alert" }, prose(problem.message)));
    }
    button.disabled = false;
  });
  return h("section", { class: "panel wide-panel identical", "aria-labelledby": "identical" }, h("h2", { id: "identical" }, "Identical files"), h("p", {}, h("label", { for: "board-of-files" }, "Board "), choice, " ", button), found, h("p", { class: "note" }, "The page compares only scored files. ", h("code", {}, "dataperf submitter identical BENCHMARK"), " also compares rejected files and files of collections."));
}

/** What is left of a submitter's limits, in words: a text for each leaderboard that is limited and each daily allowance. */
function left({ leaderboards, allowances }) {
  const of = (allowance, until) => (allowance === null ? [] : [`${plain(allowance.n_left)} of ${plain(allowance.limit)} ${until}`]);
  const limited = leaderboards.filter(({ day, round_limit: whole }) => day !== null || whole !== null);
  return [...limited.map(({ leaderboard, day, round_limit: whole }) => `${leaderboard}: ${[...of(day, "today"), ...of(whole, "in the round")].join(", ")}`), ...allowances.map((one) => `${one.title}: ${of(one, "today")}`)];
}

const ENDINGS = [["n_submissions", "Uploads"], ["n_scored", "Scored"], ["n_accepted", "Accepted"], ["n_rejected", "Rejected"], ["n_failed", "Failed"], ["n_unfinished", "Not ended"], ["n_withdrawn", "Withdrawn"]];

/** Who submits to a benchmark, how their uploads have ended, and what is left of their limits: on a click, because their histories are read for it. */
function submitters(benchmarks, cloud) {
  const choice = h("select", { id: "benchmark-of-submitters" }, benchmarks.map(({ id }) => h("option", { value: id }, titled(id))));
  const button = h("button", { type: "button" }, "List its submitters");
  const found = h("div", { "aria-live": "polite" });
  const row = (id) => (one) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: href(id, "submitter", one.submitter) }, one.submitter), one.is_baseline ? h("span", { class: "tag" }, "baseline") : null), ENDINGS.map(([name], idx) => h("td", { class: "number" }, plain(one[name]), idx === 0 && one.is_more ? " and more" : null)), h("td", {}, one.last_upload === null ? "none" : when(one.last_upload)), h("td", {}, left(one).map((text) => h("div", {}, text))));
  const said = (id, { lines, more }) => {
    if (lines.length === 0) return [h("p", { class: "empty" }, `Nobody has submitted to ${titled(id)}, and nobody has access.`)];
    const head = ["Submitter", ...ENDINGS.map(([, title]) => title), "Last upload", "Left"].map((label, idx) => h("th", { scope: "col", class: idx > 0 && idx <= ENDINGS.length ? "number" : null }, label));
    const rest = more ? [h("p", { class: "note" }, `These are the first ${plain(lines.length)}. This command lists all:`), command(`dataperf submitter list ${id}${cloud.dataperf}`, "the command to list all submitters")] : null;
    return [wide(`Submitters of ${titled(id)}`, h("table", { class: "files" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines.map(row(id))))), rest];
  };
  button.addEventListener("click", async () => {
    const id = choice.value;
    button.disabled = true;
    found.replaceChildren(h("p", {}, "Reading …"));
    try {
      found.replaceChildren(...said(id, await pages(["benchmarks", id, "submitters"], { limit: 20 }, "submitters", LISTED)).flat(Infinity).filter(Boolean));
    } catch (problem) {
      found.replaceChildren(h("p", { class: "problem", role: "alert" }, prose(problem.message)));
    }
    button.disabled = false;
  });
  return h("section", { class: "panel wide-panel submitters", "aria-labelledby": "submitters" }, h("h2", { id: "submitters" }, "Submitters"), h("p", {}, h("label", { for: "benchmark-of-submitters" }, "Benchmark "), choice, " ", button), found);
}

/** What happens in the rounds of the challenges and when, in the order of time. */
function events(known) {
  const of = ({ id, challenge }) => (challenge?.rounds ?? []).flatMap((round) => {
    const event = (time, name) => (time ? [{ time, name, benchmark: id, round: round.id }] : []);
    return [...event(round.opens, "opens"), ...event(round.retires_at, "changes its data set"), ...event(round.closes, "closes"), ...event(round.final_by, "final board due")];
  });
  return known.flatMap(of).sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

/** The timeline: events to come, and those of the past folded. */
function rounds(known) {
  const [past, next] = [[], []];
  for (const event of events(known)) (Date.parse(event.time) <= Date.now() ? past : next).push(event);
  const row = ({ time, name, benchmark, round }) => h("tr", {}, h("td", {}, whenExactly(time), Date.parse(time) > Date.now() ? [", ", countdown(time, (span) => `in ${span}`)] : null), h("th", { scope: "row" }, h("a", { href: href(benchmark) }, `${titled(benchmark)}, ${round}`)), h("td", {}, name));
  const table = (list, label) => wide(label, h("table", { class: "files" }, h("thead", {}, h("tr", {}, ["Time", "Round", "Event"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, list.map(row))));
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "timeline" },
    h("h2", { id: "timeline" }, "Rounds"),
    next.length > 0 ? table(next, "Events to come") : h("p", { class: "empty" }, "No round will open or close."),
    past.length > 0 ? h("details", {}, h("summary", {}, some(past.length, "past event")), table(past, "Past events")) : null,
  );
}

/** The commands that give people access. */
function access(benchmarks, cloud) {
  const { id } = benchmarks[0];
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "access" },
    h("h2", { id: "access" }, "Tokens"),
    h("p", {}, "A submitter needs a token. Only the command line creates, lists and revokes tokens, because this page can't write."),
    command(`dataperf submitter invite names.csv --benchmark ${id} --out tokens.csv${cloud.dataperf}`, "the command to invite submitters"),
    command(`dataperf token list${cloud.dataperf}`, "the command to list tokens"),
  );
}

/** The organizer's view. */
export async function organize(benchmarks) {
  const crumb = crumbs(["Benchmarks", "#/"], ["Organize"]);
  const heading = h("h1", {}, "Organize");
  const nodes = (await whoami())?.role === "organizer" ? await sections(benchmarks) : h("p", { class: "empty" }, "Sign in with an organizer's token.");
  return { title: "Organize", nodes: [crumb, heading, nodes] };
}

/** The parts of the organizer's view. */
async function sections(benchmarks) {
  const all = await Promise.all(benchmarks.map(waiting));
  const used = benchmarks.filter(({ leaderboards }) => leaderboards.length > 0);
  const ordered = [...used, ...benchmarks.filter((benchmark) => !used.includes(benchmark))];
  const known = await Promise.all(ordered.map(({ id }) => ask(["benchmarks", id])));
  const { submitting } = known[0];
  const listed = all.filter(({ lines }) => lines.length > 0);
  const nFailed = all.reduce((n, of) => n + of.nFailed, 0);
  const head = ["Benchmark", "Leaderboard", "Submitter", "", "Received", "Submission"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "State")));
  const failures = h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "waiting" },
    h("h2", { id: "waiting" }, "Failed and unfinished"),
    h("p", { class: "note" }, "Also for organizers: ", h("a", { href: href("audit") }, "figures of an audit"), ", ", h("a", { href: href("across") }, "agreement of boards"), ", ", h("a", { href: href("models") }, "weights of models"), "."),
    listed.length === 0
      ? h("p", { class: "empty" }, "Nothing failed, and nothing is unfinished.")
      : [
          h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Failed and unfinished submissions" }, h("table", { class: "files" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, listed.map(({ benchmark, lines }) => lines.map(line(benchmark)))))),
          listed.some(({ more }) => more) ? h("p", { class: "note" }, `The first ${plain(SHOWN)} of each benchmark; `, h("code", {}, "dataperf status --failed"), " lists all.") : null,
          nFailed > 0 ? [h("p", {}, "After fixing the cause, retry all failed submissions; to retry one, give its id instead of --all-failed:"), command(`dataperf redrive --all-failed${whichCloud(submitting).dataperf}`, "the command to evaluate again")] : null,
        ],
  );
  const cloud = whichCloud(submitting);
  return [rounds(known), failures, submitters(ordered, cloud), identical(benchmarks, cloud), access(ordered, cloud)];
}
