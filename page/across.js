// What `dataperf leaderboard across --format json` says of several boards. The file is read in the browser and sent nowhere.

import { viewOfFile } from "./audit.js";
import { capital, h, plain, score, some, wide } from "./dom.js";

/** A figure with its interval, where it has one. */
const figure = (value, interval) => [score(value, 3), interval ? h("span", { class: "tries" }, ` ${score(interval[0], 2)} to ${score(interval[1], 2)}`) : null];

function numbers(name, head, rows) {
  const cells = head.map((title, idx) => h("th", { scope: "col", class: idx > 0 ? "n" : null }, title));
  const line = ([first, ...others]) => h("tr", {}, h("th", { scope: "row" }, first), others.map((value) => h("td", { class: "n" }, value)));
  return wide(`Table: ${name}`, h("table", { class: "numbers" }, h("caption", {}, name), h("thead", {}, h("tr", {}, cells)), h("tbody", {}, rows.map(line))));
}

/** Kendall's tau-b of each two boards. */
const agreements = (of) => numbers("Agreement of two boards, Kendall's tau-b", ["Boards", "Submitters on both", "tau-b"], of.agreements.map(({ boards, n_common: n, tau_b: tau, interval }) => [boards.join(" and "), plain(n), figure(tau, interval)]));

/** The combined rankings, in the order of the first. */
function rankings({ rankings: [first, second] }) {
  const other = new Map(second.rows.map((row) => [row.submitter, row]));
  const rows = [...first.rows].sort((a, b) => a.rank - b.rank);
  return numbers("Combined rankings", ["Submitter", `By ${first.by}`, capital(first.by), `By ${second.by}`, "Mean"], rows.map((row) => [row.submitter, plain(row.rank), score(row.value, 3), plain(other.get(row.submitter).rank), score(other.get(row.submitter).value, 3)]));
}

/** What becomes of each combined ranking without one of the boards. */
const withoutOne = (of) => numbers("Without one of the boards", ["Board left out", "Ranking by", "Largest change of rank", "Mean change", "tau-b"], of.rankings.flatMap(({ by, without_board: without }) => without.map((change) => [change.board, by, plain(change.largest_change), score(change.mean_change, 3), figure(change.tau_b, change.interval)])));

/** Everything that is wrong with a document, as a sentence; null where it compares boards. */
function wrong(document) {
  const isRanking = (of) => Array.isArray(of?.rows) && Array.isArray(of.without_board);
  const isOne = Array.isArray(document?.boards) && Array.isArray(document.agreements) && document.rankings?.length === 2 && document.rankings.every(isRanking);
  return isOne ? null : "This file is not a comparison of boards: choose the output of `dataperf leaderboard across BOARD BOARD --format json`.";
}

function drawn(of) {
  const intervals = of.why_no_intervals ? `No intervals: ${of.why_no_intervals}.` : "Small figures are 95 % intervals. They count only orders that are clear on a board's test set, because the noise of small test sets looks like disagreement.";
  return [
    h("p", {}, `${some(of.n_common, "submitter")} on all ${plain(of.boards.length)} boards. Kendall's W is `, figure(of.kendalls_w, of.kendalls_w_interval), ": 1 means that all boards agree, 0 that their orders cancel out."),
    h("p", { class: "note" }, intervals),
    of.rankings_differ ? h("p", { class: "note" }, "The mean of ranks and the mean of standardized scores give different orders. Neither is more right than the other.") : null,
    agreements(of),
    rankings(of),
    withoutOne(of),
  ].filter(Boolean);
}

/** The view of a comparison of boards. */
export const across = () =>
  viewOfFile({
    title: "Agreement of boards",
    crumb: "Across boards",
    lead: "How far several boards agree, and how much a combined ranking is worth.",
    heading: "The comparison's file",
    line: "dataperf leaderboard across speech-selection/en-25 speech-selection/pt-25 --format json > across.json",
    note: "The file stays in your browser.",
    wrong,
    drawn,
    said: (document) => `${some(document.boards.length, "board")}.`,
  });
