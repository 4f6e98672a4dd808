// Which neighbours of a board are not told apart: runs of ranks that each of their rows may have, drawn as brackets beside the ranks.

import { h } from "./dom.js";

const LANES = 3; // brackets side by side; further ones are left out

/** Runs of rows in the order of ranks, `[first, last]` by place, each the longest that no other contains. */
function runs(rows) {
  const found = [];
  for (let first = 0; first < rows.length; first += 1) {
    let [last, from, to] = [first, ...rows[first].rank_interval];
    while (last + 1 < rows.length) {
      const [low, high] = rows[last + 1].rank_interval;
      if (Math.max(from, low) > rows[first].rank || Math.min(to, high) < rows[last + 1].rank) break;
      [from, to, last] = [Math.max(from, low), Math.min(to, high), last + 1];
    }
    if (last > first && !(found.at(-1)?.[1] >= last)) found.push([first, last]);
  }
  return found;
}

/** The brackets of each row of `rows`, which stand in the order of ranks, by its submission; empty where all are told apart. */
export function brackets(rows) {
  const ranked = rows.filter((row) => row.rank !== null && row.rank_interval);
  const ends = Array(LANES).fill(-1);
  const parts = new Map();
  for (const [first, last] of runs(ranked)) {
    const lane = ends.findIndex((end) => end < first);
    if (lane < 0) continue;
    ends[lane] = last;
    for (let place = first; place <= last; place += 1) {
      const row = parts.get(ranked[place].submission) ?? Array(LANES).fill(null);
      row[lane] = place === first ? "begins" : place === last ? "ends" : "goes-on";
      parts.set(ranked[place].submission, row);
    }
  }
  const drawn = (lanes) => h("span", { class: "lanes", "aria-hidden": "true" }, lanes.map((part) => h("span", { class: part })));
  return new Map([...parts].map(([submission, lanes]) => [submission, drawn(lanes)]));
}
