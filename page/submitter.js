// One submitter's history; of one's own also the files, the first reasons, the ranks and what is left of the limits.

import { ask, standing, whoami } from "./api.js";
import { boardNamed, boardOf, crumbs, h, href, pill, plain, prose, score, some, titled, when, whenBriefly, wide, working } from "./dom.js";

const own = (one) => one.private?.key.split("/").at(-1);

/** What the page itself writes into a file of one line (`sendLine`), whose name says nothing. */
const WRITTEN = { generate: "prompt", submit: "text", verdict: "verdict" };

/** How an upload is listed: by the name of its file, or by what somebody wrote on the page and when. */
function called(one, kinds) {
  const [, kind] = /^(generate|submit|verdict)-\d{17}\.jsonl$/.exec(own(one)) ?? [];
  if (!kind || !kinds.includes(kind)) return own(one);
  const what = kind === "submit" && kinds.includes("generate") ? "pair" : WRITTEN[kind];
  return [`1 ${what}, `, whenBriefly(one.received_at)];
}

const hasFailed = ({ failures }) => failures?.n_used > 0;
const isLimited = (one) => one.day || one.round_limit || hasFailed(one);

/** What is left today of what the benchmark itself counts. */
function allowed(allowances) {
  if (allowances.length === 0) return null;
  const left = ({ title, limit, n_left: n }, idx) => [idx > 0 ? ", " : "", h("b", {}, plain(n)), ` of ${plain(limit)} ${title}`];
  return h("p", { class: "allowances" }, "Left today: ", allowances.map(left), ". A day ends ", when(allowances[0].resets_at), ".");
}

/** What is left of one's limits, where there are any. */
function quotas(known, { leaderboards: listed, allowances }) {
  const limited = listed.filter(isLimited);
  if (limited.length === 0) return allowed(allowances);
  const left = (of) => (of ? h("td", { class: "n" }, h("b", {}, plain(of.n_left)), ` of ${plain(of.limit)}`) : h("td", { class: "n" }, "no limit"));
  const ofDay = limited.flatMap(({ day, failures }) => [day, failures]).find((of) => of);
  const resets = ofDay?.resets_at;
  const failed = limited.some(hasFailed);
  const names = ["Board", "Round", "Left today", "Left in the round", ...(failed ? ["Failures left today"] : [])];
  const line = (one) => h("tr", {}, h("th", { scope: "row" }, boardNamed(known, one.leaderboard), one.together.length > 1 ? h("span", { class: "tries" }, ` shared with ${one.together.filter((other) => other !== one.leaderboard).map((other) => boardNamed(known, other)).join("; ")}`) : null), h("td", {}, one.round), left(one.day), left(one.round_limit), failed ? left(one.failures) : null);
  return [
    allowed(allowances),
    wide("Table of what is left", h("table", { class: "numbers quotas" }, h("caption", { class: "unseen" }, "What is left of the limits"), h("thead", {}, h("tr", {}, names.map((name, idx) => h("th", { scope: "col", class: idx > 1 ? "n" : null }, name)))), h("tbody", {}, limited.map(line)))),
    h("p", { class: "note" }, "Running evaluations count. Rejected submissions don't count, unless the reason says so.", failed ? " Failures count separately: programs that failed on public data, and evaluations that took too long or crashed." : null, resets ? [" A day ends ", when(resets), "."] : null),
  ];
}

/** The first reason, and all of them on a click. */
function reason(benchmark, one) {
  const { reason: first, n_reasons: n } = one.private ?? {};
  if (!first) return null;
  const code = h("code", {}, first.code);
  const text = h("p", {}, prose(first.message));
  const more = h("p", {}, h("a", { href: href(benchmark, "submission", one.submission) }, n > 1 ? `All ${plain(n)} reasons, next to their lines` : "View submission"));
  return h("details", {}, h("summary", {}, code, n > 1 ? ` and ${plain(n - 1)} more` : ""), text, more);
}

const ranks = ([first, last]) => (first === last ? `clearly ${first}` : `${first} to ${last}`);

/** A row of the board: its rank and how sure it is. */
function rank(row) {
  if (!row || row.rank === null) return null;
  return [plain(row.rank), row.rank_interval ? h("span", { class: "ranks" }, ranks(row.rank_interval)) : null];
}

/** The table of a submitter's history, with its further pages. */
async function history(known, name, isOwn) {
  const { id: benchmark, submitting: { kinds } } = known; // what stands in the board's place where files have none
  const parts = ["benchmarks", benchmark, "submissions"];
  const query = { submitter: name, limit: 100 };
  const body = h("tbody");
  const more = h("button", { type: "button", class: "quiet" }, "Show more");
  let next;
  const line = (one, row) => {
    const isFile = isOwn && own(one) && (kinds.length === 0 || kinds.includes(one.leaderboard)); // people's decisions have none
    const at = h("a", { href: href(benchmark, "submission", one.submission) }, isFile ? called(one, kinds) : when(one.received_at));
    return h(
      "tr",
      {},
      h("th", { scope: "row", title: one.private?.key }, at),
      isOwn ? h("td", { class: "wide-only" }, when(one.received_at)) : null,
      h("td", {}, kinds.includes(one.leaderboard) ? one.leaderboard : h("a", { href: href(benchmark, "board", one.leaderboard, one.round) }, boardNamed(known, one.leaderboard))),
      h("td", {}, pill(one.status), one.withdrawn_at ? [h("span", { class: "tag" }, "withdrawn"), one.withdrawal_reason ? h("span", { class: "tries" }, ` ${one.withdrawal_reason}`) : null] : null, isOwn ? reason(benchmark, one) : null),
      h("td", { class: "n" }, score(one.score, boardOf(known, one)?.digits)),
      isOwn ? h("td", { class: "n" }, rank(row)) : null,
    );
  };
  const add = async (page) => {
    const key = ({ leaderboard, round }) => JSON.stringify([leaderboard, round]);
    const mayStand = isOwn ? page.submissions.filter(({ status, withdrawn_at: isWithdrawn }) => status === "scored" && !isWithdrawn) : [];
    const read = async (of) => {
      const [leaderboard, round] = JSON.parse(of);
      return [of, await standing(benchmark, leaderboard, round, { submitter: name }).catch(() => null)];
    };
    const standings = new Map(await Promise.all([...new Set(mayStand.map(key))].map(read)));
    const row = (one) => standings.get(key(one))?.rows.get(one.submission);
    body.append(...page.submissions.map((one) => line(one, row(one))));
    next = page.next;
    more.hidden = !next;
  };
  await add(await ask(parts, query));
  const further = working(more, async () => add(await ask(parts, { ...query, cursor: next })));
  const labels = isOwn ? ["File", "Received", "Board", "Status", "Score", "Rank"] : ["Received", "Board", "Status", "Score"];
  const look = { Received: isOwn ? "wide-only" : null, Score: "n", Rank: "n" };
  const heads = labels.map((label) => h("th", { scope: "col", class: look[label] }, label));
  if (body.childElementCount === 0) return null;
  return [wide(`Table of submissions to ${titled(benchmark)}`, h("table", { class: isOwn ? "history own" : "history" }, h("caption", { class: "unseen" }, "History"), h("thead", {}, h("tr", {}, heads)), body)), further];
}

async function section(benchmark, name, isOwn, heading) {
  const known = await ask(["benchmarks", benchmark]);
  const [table, left] = await Promise.all([history(known, name, isOwn), isOwn ? ask(["benchmarks", benchmark, "quotas"], { submitter: name }) : null]);
  const concerns = table || left?.leaderboards.some(isLimited) || left?.allowances.some(({ n_used: n }) => n > 0);
  if (heading && !concerns) return null; // a collection's allowances are everybody's
  const limits = left && quotas(known, left);
  return h("section", { class: "panel wide-panel", "aria-label": heading ? titled(benchmark) : "History" }, heading ? h("h2", {}, titled(benchmark)) : null, limits, table ?? h("p", { class: "empty" }, heading ? "No submission yet." : "Nothing to see here without this submitter's token."));
}

/** One submitter's submissions to one benchmark. */
export async function submitter(benchmark, name) {
  const who = await whoami();
  const isOwn = who !== null && (who.role === "organizer" || who.submitter === name);
  const hint = isOwn ? "" : " Sign in with this submitter's token to see submissions without a score.";
  return {
    title: name,
    benchmark,
    nodes: [crumbs(["Benchmarks", "#/"], [titled(benchmark), href(benchmark)], [name]), h("h1", {}, name), h("p", { class: "lead" }, `Submissions to ${titled(benchmark)}, newest first.${hint}`), await section(benchmark, name, isOwn, false)],
  };
}

/** One's own submissions to all benchmarks. */
export async function mine(benchmarks) {
  const who = await whoami();
  const nodes = who?.role === "submitter" ? (await Promise.all(benchmarks.filter(({ id, leaderboards }) => leaderboards.length > 0 && (who.benchmarks.length === 0 || who.benchmarks.includes(id))).map(({ id }) => section(id, who.submitter, true, true)))).filter(Boolean) : [];
  const none = who?.role === "submitter" ? `${who.submitter} has submitted nothing yet.` : "Sign in with a submitter's token to see its submissions.";
  return {
    title: "My submissions",
    nodes: [crumbs(["Benchmarks", "#/"], ["My submissions"]), h("h1", {}, "My submissions"), nodes.length > 0 ? h("p", { class: "lead" }, `Submissions by ${who.submitter} to ${some(nodes.length, "benchmark")}, newest first.`) : h("p", { class: "empty" }, none), nodes],
  };
}
