// All benchmarks and their boards: open contests first, benchmarks without a board folded away.

import { ask } from "./api.js";
import { boardName, capital, countdown, counts, h, href, prose, score, some, titled, whenExactly } from "./dom.js";

/** The round of a board in the benchmark's challenge; null outside of rounds, and for late and final boards. */
const roundOf = (challenge, board) => challenge?.rounds.find(({ id }) => id === board.round) ?? null;

const isPast = (time) => Boolean(time) && Date.parse(time) <= Date.now();

/** When uploads to the board begin or end; null where they may come at any time. */
function deadline(round) {
  if (!round) return null;
  if (!isPast(round.opens)) return h("span", { class: "count" }, "Opens ", countdown(round.opens, (span) => `in ${span}`), ", ", whenExactly(round.opens));
  if (!round.closes) return h("span", { class: "count" }, "Open");
  if (isPast(round.closes)) return h("span", { class: "count" }, "Closed ", whenExactly(round.closes));
  return h("span", { class: "count" }, "Closes ", countdown(round.closes, (span) => `in ${span}`), ", ", whenExactly(round.closes));
}

function card(benchmark, board, round) {
  const { leader, n_submitters: n, n_baselines: nBaselines, has_more: more, hidden_until: hidden } = board.leaders;
  const nRows = n + nBaselines;
  return h(
    "li",
    {},
    h(
      "a",
      { class: "card", href: href(benchmark.id, "board", board.name, board.round) },
      h("span", { class: "name" }, boardName(board, benchmark.leaderboards), board.round === "open" ? null : h("span", { class: "round" }, board.round)),
      h("span", { class: "about" }, prose(board.about || "this board belongs to an earlier data set")),
      leader
        ? h("span", { class: "leader" }, h("b", {}, score(leader.score, board.digits)), board.metric ? h("span", { class: "metric" }, board.metric) : null, h("span", { class: "who" }, leader.submitter))
        : h("span", { class: "leader none" }, hidden ? "hidden until the round closes" : nRows > 0 ? "scored with an earlier data set" : "no score yet"),
      nRows > 0 ? h("span", { class: "count" }, counts(n, nBaselines, more)) : null,
      deadline(round),
    ),
  );
}

/** Boards that take uploads in a round now, then boards outside of rounds, then all others. */
function order(board, round) {
  if (round) return isPast(round.opens) && !isPast(round.closes) ? 0 : 2;
  return board.round === "open" ? 1 : 3;
}

function section(benchmark, challenge) {
  const boards = benchmark.leaderboards.map((board) => ({ board, round: roundOf(challenge, board) }));
  boards.sort((a, b) => order(a.board, a.round) - order(b.board, b.round));
  const id = `of-${benchmark.id}`;
  const node = h(
    "section",
    { "aria-labelledby": id },
    h("h2", { id }, h("a", { href: href(benchmark.id) }, titled(benchmark.id))),
    h("p", { class: "lead" }, `${capital(benchmark.about)}.`),
    h("ul", { class: "cards" }, boards.map(({ board, round }) => card(benchmark, board, round))),
  );
  return { node, isContest: boards.some(({ board, round }) => round && order(board, round) === 0) };
}

/** The benchmarks that nobody has published a data set for. */
function unused(benchmarks) {
  if (benchmarks.length === 0) return null;
  const line = ({ id, about }) => h("li", {}, h("b", {}, titled(id)), `: ${about}`);
  return h("details", { class: "whole" }, h("summary", {}, `${some(benchmarks.length, "benchmark")} without a data set`), h("ul", {}, benchmarks.map(line)));
}

export async function home(benchmarks) {
  const used = benchmarks.filter(({ leaderboards }) => leaderboards.length > 0);
  const hasRounds = ({ leaderboards }) => leaderboards.some(({ round }) => round !== "open");
  const challenges = await Promise.all(used.map((benchmark) => (hasRounds(benchmark) ? ask(["benchmarks", benchmark.id]).then(({ challenge }) => challenge) : null)));
  const sections = used.map((benchmark, place) => section(benchmark, challenges[place]));
  sections.sort((a, b) => b.isContest - a.isContest);
  return {
    title: "Leaderboards",
    nodes: [
      h("h1", {}, "Competitions on data"),
      h("p", { class: "lead wide" }, "Compete on data instead of models: choose training sets for a fixed model, write examples that fool models, or build models that withstand them. ", h("a", { href: href("boards") }, "Boards side by side")),
      sections.map(({ node }) => node),
      unused(benchmarks.filter(({ leaderboards }) => leaderboards.length === 0)),
    ],
  };
}
