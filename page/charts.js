// Drawings: lines with uPlot, and small strips of dots. All colours come from the style sheet.

import { ends, h, live, part, plain, s, score } from "./dom.js";

const HEIGHT = 260;
const dark = matchMedia("(prefers-color-scheme: dark)");

let library = null;

/** uPlot, fetched with the first chart: no view waits for it. */
function uPlot() {
  library ??= new Promise((done, failed) => {
    document.head.append(h("link", { rel: "stylesheet", href: "vendor/uPlot.min.css" }), h("script", { src: "vendor/uPlot.iife.min.js", onload: done, onerror: failed }));
  });
  return library;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

dark.addEventListener("change", () => {
  for (const chart of live) chart.draw();
});

/** A chart that fits its place and follows light and dark. `options` makes uPlot's options for a width. */
function chart(label, data, options) {
  const place = h("div", { class: "chart", role: "img", "aria-label": label });
  let plot;
  const draw = () => {
    if (!window.uPlot) return;
    plot?.destroy();
    plot = new window.uPlot({ width: place.clientWidth || 320, height: HEIGHT, ...options() }, data, place);
  };
  const observer = new ResizeObserver(() => {
    if (!plot) draw();
    else plot.setSize({ width: place.clientWidth, height: HEIGHT });
  });
  uPlot().then(
    () => observer.observe(place),
    () => place.replaceChildren(h("p", { class: "problem" }, "The chart could not be loaded: reload the page.")),
  );
  live.add({ draw, end: () => (observer.disconnect(), plot?.destroy()) });
  return place;
}

const axis = (more) => ({
  stroke: colour("soft"),
  grid: { stroke: colour("line"), width: 1 },
  ticks: { show: false },
  font: "12px system-ui, sans-serif",
  ...more,
});

const axes = (x) => [axis({ size: 36, space: 70, ...x }), axis({ size: 58, values: (_, ticks) => ticks.map((tick) => plain(tick)) })];

/** Tells of the point under the pointer. */
const tells = (readout, text) => ({
  setCursor: [
    (plot) => {
      const idx = plot.cursor.idx;
      readout.textContent = idx === null || idx === undefined ? readout.dataset.rest : text(idx);
    },
  ],
});

const clock = (options) => new Intl.DateTimeFormat("en-GB", options);
const dayOf = clock({ day: "numeric", month: "short", year: "numeric" });
const minuteOf = clock({ hour: "2-digit", minute: "2-digit" });
const secondOf = clock({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const instantOf = clock({ second: "2-digit", fractionalSecondDigits: 3 });

/** Ticks of time: days where they are far apart, else times of the day with the day below the first. */
function moments(ticks, apart) {
  const format = apart >= 86_400 ? dayOf : apart >= 60 ? minuteOf : apart >= 1 ? secondOf : instantOf;
  return ticks.map((tick, idx) => {
    const moment = new Date(tick * 1000);
    const below = idx > 0 || format === dayOf ? "" : `\n${dayOf.format(moment)}${apart < 1 ? ` ${minuteOf.format(moment)}` : ""}`;
    return format.format(moment) + below;
  });
}

const stamp = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** What a board's points come to: the best so far, and the best baseline, if there is one. */
function summary(points, isBetter, digits) {
  const compared = points.filter((point) => !point.is_of_other_dataset);
  const baselines = compared.filter((point) => point.is_baseline);
  const bar = baselines.reduce((best, point) => (best && !isBetter(point.score, best.score) ? best : point), null);
  const { best } = points.at(-1);
  const n = compared.length - baselines.length;
  const people = n === 0 ? "no scored submission yet" : `${plain(n)} scored ${n === 1 ? "submission" : "submissions"}; the best is ${score(best, digits)}`;
  return { bar, rest: bar ? `${people}, the best baseline ${score(bar.score, digits)}` : people };
}

const swatch = (kind, text) => h("li", {}, h("span", { class: `swatch ${kind}` }), text);

const CLUMPED = 0.05;

/** Whether half of the points lie together in a small part of the time: then they stand one after another instead. */
function isClumped(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const half = Math.ceil(sorted.length / 2);
  const spans = sorted.slice(0, sorted.length - half + 1).map((time, idx) => sorted[idx + half - 1] - time);
  return sorted.length > 4 && Math.min(...spans) < CLUMPED * (sorted.at(-1) - sorted[0]);
}

/** All scores of a board over time, and the best so far as steps. Baselines are what the best is held against, no part of it. */
export function bestOverTime(points, isBetter, digits) {
  const { bar, rest } = summary(points, isBetter, digits);
  const readout = h("p", { class: "readout", "data-rest": rest }, rest);
  const each = (value) => points.map(value);
  const times = each((point) => Date.parse(point.received_at) / 1000);
  const inOrder = isClumped(times);
  const data = [
    inOrder ? points.map((_, idx) => idx + 1) : times,
    each((point) => point.best),
    each((point) => (point.is_baseline || point.is_of_other_dataset ? null : point.score)),
    each((point) => (point.is_baseline || point.is_of_other_dataset ? point.score : null)),
    each(() => bar?.score ?? null),
  ];
  const alone = points.length === 1 ? { x: { time: true, range: (_, min) => [min - 60, min + 60] } } : {};
  const dots = (name) => ({ stroke: colour(name), paths: () => null, points: { show: true, size: 7, width: 1.5, fill: colour("panel") } });
  const place = chart(`Best score over time: ${rest}`, data, () => ({
    ms: 1e-3,
    scales: { y: { range: points.every(({ score: value }) => value === 0) ? [0, 1] : { min: { pad: 0.1 }, max: { pad: 0.15 } } }, ...(inOrder ? { x: { time: false } } : alone) },
    legend: { show: false },
    cursor: { y: false, points: { size: 9 }, drag: { x: true, y: false } },
    axes: axes(inOrder ? { space: 60, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? plain(tick) : "")) } : { space: 90, size: 46, values: (_, ticks, __, ___, apart) => moments(ticks, apart) }),
    series: [
      {},
      { label: "best so far", stroke: colour("accent"), width: 2, paths: window.uPlot.paths.stepped({ align: 1 }), points: { show: false } },
      { label: "submission", ...dots("dot") },
      { label: "baseline or earlier data set", ...dots("soft") },
      { label: "best baseline", stroke: colour("soft"), width: 1.5, dash: [5, 5], points: { show: false } },
    ],
    hooks: tells(readout, (idx) => {
      const point = points[idx];
      const so_far = point.best === null ? "" : ` · best so far ${score(point.best, digits)}`;
      const of = point.is_of_other_dataset ? " (earlier data set)" : "";
      return `${stamp.format(new Date(point.received_at))} · ${point.submitter} · ${score(point.score, digits)}${of}${so_far}`;
    }),
  }));
  const baselines = bar && [swatch("ring soft", "a baseline"), swatch("dash", `the best baseline, ${bar.submitter.replace(/^baseline-/, "")}`)];
  const earlier = points.some((point) => point.is_of_other_dataset) && swatch("ring soft", "scored with an earlier data set");
  const key = h("ul", { class: "key" }, swatch("rule", "best so far"), swatch("ring", "a submission"), earlier, baselines);
  return [key, place, inOrder ? h("p", { class: "note" }, "Submissions are in order of time, but evenly spaced, because half of them came within a short time.") : null, readout];
}

const HUES = ["accent", "second", "third", "fourth", "fifth"];

/** Curves of one kind side by side in one chart, each with the line that it is to reach, where `goal` knows one. */
export function curves(group, goal = () => null) {
  const { title, x_name: along } = group[0];
  const lines = group.map((curve) => part(curve.of) || title);
  const xs = [...new Set(group.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const data = [xs];
  for (const curve of group) {
    const values = new Map(curve.x.map((x, idx) => [x, curve.y[idx]]));
    data.push(xs.map((x) => values.get(x) ?? null));
  }
  const goals = group.map(({ of }) => goal(of));
  goals.forEach((value) => value !== null && data.push(xs.map(() => value)));
  const targets = goals.map((value, idx) => ({ value, idx })).filter(({ value }) => value !== null);
  const rest = `${title} by ${along}`;
  const readout = h("p", { class: "readout", "data-rest": rest }, rest);
  const place = chart(`${rest}: ${lines.join(", ")}`, data, () => ({
    scales: { x: { time: false } },
    legend: { show: false },
    cursor: { y: false, points: { size: 9 } },
    axes: axes({}),
    series: [{}, ...lines.map((label, idx) => ({ label, stroke: colour(HUES[idx % HUES.length]), width: 2, spanGaps: true, points: { show: xs.length < 40, size: 6 } })), ...targets.map(({ idx }) => ({ label: `target of ${lines[idx]}`, stroke: colour(HUES[idx % HUES.length]), width: 1.5, dash: [5, 5], points: { show: false } }))],
    hooks: tells(readout, (idx) => `${along} ${plain(xs[idx])}: ${lines.map((line, n) => `${line} ${plain(data[n + 1][idx])}`).join(" · ")}`),
  }));
  const dashes = targets.map(({ value, idx }) => h("li", {}, h("span", { class: `swatch dash hue-of-${idx % HUES.length}` }), `target${lines.length > 1 ? ` of ${lines[idx]}` : ""}: ${score(value)}`));
  const key = h("ul", { class: "key" }, lines.length > 1 ? lines.map((line, idx) => h("li", {}, h("span", { class: `swatch hue-${idx % HUES.length}` }), line)) : null, dashes);
  return [lines.length > 1 || dashes.length > 0 ? key : null, place, readout];
}

/** One dot a repetition and a tick for their mean, on a scale that a list shares. */
export function strip(spread, mean, [low, high]) {
  const at = (value) => `${(high > low ? 4 + (92 * (value - low)) / (high - low) : 50).toFixed(2)}%`;
  const label = `${spread.values.length} ${spread.over}s: ${score(spread.min)} to ${score(spread.max)}, standard deviation ${spread.std.toFixed(4)}`;
  return s(
    "svg",
    { class: "strip", role: "img", "aria-label": label },
    s("title", {}, label),
    s("line", { class: "rail", x1: "0", x2: "100%", y1: 9, y2: 9 }),
    spread.values.map((value) => s("circle", { cx: at(value), cy: 9, r: 3.2 })),
    s("line", { class: "mean", x1: at(mean), x2: at(mean), y1: 2, y2: 16 }),
  );
}

/** The interval of a score as a line with ends, the score as a tick, on a scale that a list shares. */
export function whisker([low, high], value, [least, most], digits) {
  const at = (of) => (most > least ? 4 + (112 * (of - least)) / (most - least) : 60);
  const label = `with 95 % confidence between ${ends([low, high], digits).join(" and ")}`;
  const end = (of) => s("line", { x1: at(of), x2: at(of), y1: 5, y2: 13, class: "end" });
  return s(
    "svg",
    { class: "whisker", viewBox: "0 0 120 18", role: "img", "aria-label": label },
    s("title", {}, label),
    s("line", { x1: at(low), x2: at(high), y1: 9, y2: 9 }),
    end(low),
    end(high),
    s("circle", { cx: at(value), cy: 9, r: 3.2 }),
  );
}

/** The scale that holds all intervals. */
export function intervalScale(rows) {
  const intervals = rows.map((row) => row.interval).filter(Boolean);
  return [Math.min(...intervals.map(([low]) => low)), Math.max(...intervals.map(([, high]) => high))];
}

/** The scale that holds all spreads. */
export function scale(rows) {
  const spreads = rows.map((row) => row.spread).filter(Boolean);
  return [Math.min(...spreads.map((spread) => spread.min)), Math.max(...spreads.map((spread) => spread.max))];
}

/** The quantile of the normal distribution: Wichura's algorithm AS 241 (1988), PPND7. */
export function probit(share) {
  const ratio = ([a, b, c, d], [e, f, g], r) => (((d * r + c) * r + b) * r + a) / (((g * r + f) * r + e) * r + 1);
  const q = share - 0.5;
  if (Math.abs(q) <= 0.425) return q * ratio([3.3871327179, 50.434271938, 159.29113202, 59.10937472], [17.895169469, 78.757757664, 67.1875636], 0.180625 - q * q);
  const r = Math.sqrt(-Math.log(Math.min(share, 1 - share)));
  const above = r <= 5 ? ratio([1.4234372777, 2.75681539, 1.3067284816, 0.17023821103], [0.7370016425, 0.12021132975, 0], r - 1.6) : ratio([6.657905115, 3.081226386, 0.42868294337, 0.017337203997], [0.24197894225, 0.012258202635, 0], r - 5);
  return q < 0 ? -above : above;
}

const TICKS = [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];
const [WIDE, LEFT, BOTTOM] = [360, 44, 36]; // of a square plot and its margins

/** New scores over old ones on probit axes, with the line through their true values and the one of equal scores. Null where a score is no share. */
export function onProbitAxes(lines, slope, intercept) {
  const both = lines.filter(({ after }) => after !== null);
  if (both.length < 3 || !both.every(({ before, after }) => [before, after].every((value) => value > 0 && value < 1))) return null;
  const points = both.map((line) => ({ ...line, x: probit(line.before), y: probit(line.after) }));
  const all = points.flatMap(({ x, y }) => [x, y]);
  const [low, high] = [Math.min(...all) - 0.1, Math.max(...all) + 0.1];
  const at = (value) => ((value - low) / (high - low)) * (WIDE - LEFT - 8);
  const [across, up] = [(value) => LEFT + at(value), (value) => WIDE - BOTTOM - at(value)];
  const within = TICKS.filter((tick) => probit(tick) > low && probit(tick) < high);
  const ticks = within.length > 0 ? within : [both[0].before];
  const line = (of, name) => {
    // the part of the line within the plot
    const ends = [low, high].map((x) => [x, of(x)]);
    const [[x1, y1], [x2, y2]] = ends;
    const cut = (y) => Math.min(Math.max(y, low), high);
    const x = (y, own) => (y === cut(y) || y1 === y2 ? own : x1 + ((cut(y) - y1) / (y2 - y1)) * (x2 - x1));
    return s("line", { class: name, x1: across(x(y1, x1)), y1: up(cut(y1)), x2: across(x(y2, x2)), y2: up(cut(y2)) });
  };
  const label = `New scores over old ones of ${both.length} submissions, on probit axes`;
  return s(
    "svg",
    { class: "probits", viewBox: `0 0 ${WIDE} ${WIDE}`, role: "img", "aria-label": label },
    s("title", {}, label),
    ticks.map((tick) => [s("text", { x: across(probit(tick)), y: WIDE - BOTTOM + 16, "text-anchor": "middle" }, plain(tick)), s("text", { x: LEFT - 6, y: up(probit(tick)) + 4, "text-anchor": "end" }, plain(tick))]),
    s("text", { x: (WIDE + LEFT) / 2, y: WIDE - 4, "text-anchor": "middle" }, "score with the retired data set"),
    line((x) => x, "same"),
    slope && intercept ? line((x) => intercept.value + slope.value * x, "fit") : null,
    points.map(({ x, y, is_baseline: isBaseline, submitter }) => s("circle", { class: isBaseline ? "soft" : null, cx: across(x), cy: up(y), r: 3.5 }, s("title", {}, submitter))),
  );
}
