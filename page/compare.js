// Two submissions beside each other: what differs in their scores, in what their scores are made of, and in their files.

import { ask, content, standing, whoami } from "./api.js";
import { texts } from "./archive.js";
import { boardName, boardOf, capital, command, crumbs, ends, h, href, part, pill, plain, prose, score, some, titled, wide, words } from "./dom.js";
import { readCsv } from "./places.js";

const LISTED = 20; // differences of files that are listed
// Student's t for 95 % by degrees of freedom, from 1 on; beyond them the normal distribution's
const T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042];

/** The mean difference of paired values, with its interval over further pairs like these; null below three pairs. */
export function paired(first, second) {
  const values = new Map(second.labels.map((label, idx) => [label, second.values[idx]]));
  const differences = first.labels.flatMap((label, idx) => (values.has(label) ? [first.values[idx] - values.get(label)] : []));
  const n = differences.length;
  if (n < 3) return null;
  const mean = differences.reduce((sum, value) => sum + value, 0) / n;
  const variance = differences.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  const half = (T[n - 2] ?? 1.96) * Math.sqrt(variance / n);
  return { n, mean, low: mean - half, high: mean + half };
}

/** What a file is made of, as a set of texts: the values of JSON with the place of their array or object, the lines of a CSV; of an archive those of its files. */
const elements = (files) => new Set(files.flatMap(({ name, text }) => [...elementsOf(text)].map((element) => (name ? `${name}: ${element}` : element))));

function elementsOf(of) {
  const found = new Set();
  const walk = (value, at) => {
    if (Array.isArray(value)) value.forEach((item) => walk(item, at));
    else if (value !== null && typeof value === "object") for (const [name, item] of Object.entries(value)) walk(item, at ? `${at} ${name}` : name);
    else found.add(at ? `${at}: ${JSON.stringify(value)}` : JSON.stringify(value));
  };
  try {
    walk(JSON.parse(of), "");
  } catch {
    for (const { cells } of readCsv(of)) found.add(cells.join(","));
  }
  return found;
}

const common = (first, second) => [...first].filter((element) => second.has(element)).length;

function files(one, other, both) {
  if (!both.every(Boolean)) return null; // they are private, too large, or not text
  const heading = h("h2", { id: "files" }, "Files");
  const panel = (...nodes) => h("section", { class: "panel wide-panel", "aria-labelledby": "files" }, heading, nodes);
  if (one.artifact === other.artifact) return panel(h("p", {}, "Both are the same file, byte for byte."));
  const [first, second] = both.map(elements);
  const only = (from, without) => [...from].filter((element) => !without.has(element));
  if ([...first].every((element) => second.has(element)) && first.size === second.size) return panel(h("p", {}, `Both have the same ${some(first.size, "element")}, in another order.`));
  const list = (name, lines) => h("div", {}, h("h3", {}, `Only in ${name}: ${plain(lines.length)}`), h("ul", {}, lines.slice(0, LISTED).map((line) => h("li", {}, h("code", {}, line)))), lines.length > LISTED ? h("p", { class: "note" }, `The first ${LISTED} are listed.`) : null);
  const n = common(first, second);
  return panel(h("p", {}, `${some(n, "element")} ${n === 1 ? "is" : "are"} in both.`), h("div", { class: "pair" }, list(one.submitter, only(first, second)), list(other.submitter, only(second, first))));
}

/** Whether the caller may read the file: its own, or one of a round whose files are public. */
const isReadable = (benchmark, one) => Boolean(one.private) || (one.score !== null && Boolean(benchmark.challenge?.rounds.find(({ id }) => id === one.round)?.artifacts_are_public));

/** Whether what a score is made of may be shown beside another's: never while the round is open. */
function isOver(benchmark, one) {
  const round = benchmark.challenge?.rounds.find(({ id }) => id === one.round);
  const isOpen = round && (!round.closes || Date.now() < Date.parse(round.closes));
  return !isOpen && one.withheld.length === 0;
}

/** The mean differences over what both have of seeds, trials or markets; empty where the evaluation has no repeats. */
const repeated = ([first, second]) =>
  first.trials.flatMap((trial) => {
    const same = second.trials.find(({ of, over }) => of === trial.of && over === trial.over);
    const found = same && paired(trial, same);
    return found ? [{ name: part(trial.of) || "score", over: trial.over, ...found }] : [];
  });

/** How far both are apart under the draws of the test set, as it is published when their round has closed: on its board, and on that of its final data set. A problem stands where there is no answer. */
function published(benchmark, at, one, other) {
  const round = benchmark.challenge?.rounds.find(({ id }) => id === one.round);
  const boards = round ? [["The round's data", round.id], ...(round.has_final ? [["The round's final data", `${round.id}.final`]] : [])] : [];
  return Promise.all(boards.map(async ([name, id]) => ({ name, digits: boardOf(benchmark, { ...one, round: id })?.digits, ...(await ask([...at, "difference"], { from: other.submission, round: id }).catch(({ message }) => ({ why_none: message }))) })));
}

function differences(one, other, lines, drawn, digits, isOrganizer) {
  if (lines.length === 0 && drawn.length === 0 && !isOrganizer) return null;
  const panel = (...nodes) => h("section", { class: "panel wide-panel", "aria-labelledby": "paired" }, h("h2", { id: "paired" }, "Paired difference"), nodes);
  const numbers = (columns, rows) => wide("Table of paired differences", h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, columns.map((name, idx) => h("th", { scope: "col", class: idx > 0 ? "n" : null }, name)))), h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name), cells.map((cell) => h("td", { class: "n" }, cell)))))));
  const range = (interval, of = digits) => ends(interval, of).join(" to ");
  const shown = drawn.filter(({ interval }) => interval);
  const better = (id) => (id === null ? "neither" : id === one.submission ? one.submitter : other.submitter);
  const onOthers = () => {
    const [first] = shown;
    const rows = shown.map(({ name, difference, interval, clearly_better, digits: of }) => [name, score(difference, of), range(interval, of), better(clearly_better)]);
    return [
      h("p", {}, `On ${first.name.toLowerCase()}, ${one.submitter} minus ${other.submitter} is ${score(first.difference, first.digits)}. With 95 % confidence, it is ${range(first.interval, first.digits)} on other test sets of this kind and size. ${first.clearly_better ? better(first.clearly_better) : "Neither"} is clearly better.`),
      numbers(["Scored with", "Difference", "95 %", "Clearly better"], rows),
      reasons(),
    ];
  };
  const onThis = () => {
    const rows = lines.map(({ name, n, mean, low, high }) => [capital(name), score(mean, digits), range([low, high]), plain(n)]);
    return [h("p", {}, `The table shows ${one.submitter} minus ${other.submitter}, ${lines[0].over} by ${lines[0].over}, with 95 % confidence for other ${lines[0].over}s on the same test set.`), numbers(["Part", "Mean difference", "95 %", "Pairs"], rows)];
  };
  const reasons = () => drawn.filter(({ interval }) => !interval).map(({ name, why_none }) => h("p", {}, prose(`${name}: ${why_none}.`)));
  // where the pair is published without an interval, the command has none either
  const organizers = () => (!isOrganizer || drawn.some(({ difference }) => difference !== undefined) ? null : [h("p", {}, "The organizer can compare the two with "), command(`dataperf leaderboard compare ${one.submission} ${other.submission}`, "the command that compares")]);
  const haveRanges = [one, other].every((of) => of.rank_interval);
  const without = () => [reasons(), haveRanges ? h("p", {}, "The 95 % rank ranges above show whether this difference is likely to hold on another test set.") : null, organizers()];
  return panel(shown.length > 0 ? onOthers() : without(), lines.length > 0 ? onThis() : null);
}

/** The tables of numbers that both have, cell by cell: shares as bars too. */
function tables(names, figures, digits) {
  const [first, second] = figures;
  return first.tables.flatMap((table) => {
    const same = second.tables.find(({ name }) => name === table.name);
    if (!same || table.columns.length !== 1 || table.lines.length === 0) return [];
    const of = new Map(same.lines.map(({ label, values }) => [label, values[0]]));
    const all = [...table.lines, ...same.lines].map(({ values: [value] }) => value);
    const isWhole = all.every(Number.isInteger);
    const isShare = !isWhole && all.every((value) => value >= 0 && value <= 1);
    const shown = (cell) => (!Number.isFinite(cell) ? "–" : isWhole ? plain(cell) : score(cell, digits));
    const bar = (cell, name) => (isShare && Number.isFinite(cell) ? h("meter", { min: 0, max: 1, value: cell, "aria-label": name }) : null);
    const line = ({ label, values: [value] }) => h("tr", {}, h("th", { scope: "row" }, label), [value, of.get(label)].map((cell, idx) => h("td", { class: "n" }, bar(cell, `${label}, ${names[idx]}`), shown(cell))), h("td", { class: "n" }, shown(value - of.get(label))));
    return h("section", { class: "panel wide-panel", "aria-label": table.titles[0] }, h("h2", {}, capital(table.titles[0] ?? words(table.name))), wide(`Table of ${table.titles[0]}`, h("table", { class: "numbers" }, h("thead", {}, h("tr", {}, ["", "First", "Second", "Difference"].map((name) => h("th", { scope: "col", class: name ? "n" : null }, name || h("span", { class: "unseen" }, "Part"))))), h("tbody", {}, table.lines.map(line)))));
  });
}

export async function compare(benchmarkId, ids) {
  const parts = ids.map((id) => ["benchmarks", benchmarkId, "submissions", id]);
  const [benchmark, ...both] = await Promise.all([ask(["benchmarks", benchmarkId]), ...parts.map((of) => ask(of))]);
  const [one, other] = both;
  const digitsOf = (of) => boardOf(benchmark, of)?.digits;
  const digits = digitsOf(one); // of both where they are compared: then they have one board
  const isSameBoard = one.leaderboard === other.leaderboard && one.round === other.round && one.dataset === other.dataset;
  const isShown = isSameBoard && both.every((of) => isOver(benchmark, of));
  const [who, standings, figures, artifacts] = await Promise.all([
    whoami(),
    Promise.all(both.map((of) => standing(benchmarkId, of.leaderboard, of.round).catch(() => null))),
    isShown ? Promise.all(parts.map((of) => ask([...of, "figures"]))) : null,
    Promise.all(both.map((of, idx) => (isReadable(benchmark, of) ? content([...parts[idx], "artifact"]).then(texts, () => undefined) : undefined))),
  ]);
  const lines = figures ? repeated(figures) : [];
  const drawn = figures ? await published(benchmark, parts[0], one, other) : [];
  const range = (both) => (both ? [...new Set(both)].join(" to ") : "–");
  const called = (of) => boardName(boardOf(benchmark, of) ?? of, benchmark.leaderboards);
  const isKnown = (value) => value.some((of) => of !== null && of !== undefined);
  const rankOf = (of, idx) => standings[idx]?.rows.get(of.submission)?.rank;
  const facts = [
    ["Submitter", (of) => h("a", { href: href(benchmarkId, "submission", of.submission) }, of.submitter)],
    ["Board", (of) => h("a", { href: href(benchmarkId, "board", of.leaderboard, of.round) }, of.round === "open" ? called(of) : `${called(of)}, ${of.round}`)],
    ["Status", (of) => pill(of.status)],
    ["Score", (of) => score(of.score, digitsOf(of))],
    // what neither has is left out
    isKnown(both.map((of) => of.interval)) && ["Score, 95 %", (of) => range(of.interval && ends(of.interval, digitsOf(of)))],
    isKnown(both.map(rankOf)) && ["Rank", (of, idx) => plain(rankOf(of, idx))],
    isKnown(both.map((of) => of.rank_interval)) && ["Rank, 95 %", (of) => range(of.rank_interval && of.rank_interval.map(plain))],
  ].filter(Boolean);
  const line = ([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), both.map((of, idx) => h("td", {}, value(of, idx))));
  const why = !isSameBoard ? "Their boards or data sets differ, so their scores can't be compared." : isShown ? null : "You can compare metrics after the round has closed and shows everything.";
  const gap = isSameBoard && one.score !== null && other.score !== null ? `The scores differ by ${score(Math.abs(one.score - other.score), digits)}.` : null;
  return {
    title: `${one.submitter} and ${other.submitter}`,
    benchmark: benchmarkId,
    nodes: [
      crumbs(["Benchmarks", "#/"], [titled(benchmarkId), href(benchmarkId)], [called(one), href(benchmarkId, "board", one.leaderboard, one.round)], ["Comparison"]),
      h("h1", {}, `${one.submitter} and ${other.submitter}`),
      h("section", { class: "panel wide-panel", "aria-label": "Both" }, wide("Table of both", h("table", { class: "files both" }, h("caption", { class: "unseen" }, "Both submissions"), h("thead", {}, h("tr", {}, ["", "First", "Second"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "Fact"))))), h("tbody", {}, facts.map(line)))), gap ? h("p", {}, gap) : null, why ? h("p", { class: "note" }, why) : null),
      figures ? [differences(one, other, lines, drawn, digits, who?.role === "organizer"), tables(both.map((of) => of.submitter), figures, digits)] : null,
      files(one, other, artifacts),
    ],
  };
}
