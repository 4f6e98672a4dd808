// The text of an artifact, with each reason beside the line that it is about. Of a large file only the lines around them are shown.

import { h, plain, prose } from "./dom.js";
import { offsets, place } from "./places.js";

const AROUND = 2; // lines before and after
const WIDE = 120; // characters of a line
const WHOLE = 40; // lines of a file that is shown whole
const MOST = 100; // lines with reasons

/** A long line around a column. */
function excerpt(line, column) {
  if (line.length <= WIDE) return line;
  const from = Math.max(0, Math.min(column - WIDE / 2, line.length - WIDE));
  return `${from > 0 ? "…" : ""}${line.slice(from, from + WIDE)}${from + WIDE < line.length ? "…" : ""}`;
}

/** A line, or two or more parts of one where reasons are far apart. */
function numbered(line, number, notes) {
  const said = (note) => h("p", { class: "said" }, h("span", { class: "unseen" }, `line ${number}, column ${note.column}: `), prose(note.message), note.code ? [" ", h("code", {}, note.code)] : null);
  const parts = notes.length === 0 ? [{ at: 1, notes: [] }] : [];
  for (const note of notes) {
    const last = parts.at(-1);
    if (last && (line.length <= WIDE || note.column - last.at < WIDE / 3)) last.notes.push(note);
    else parts.push({ at: note.column, notes: [note] });
  }
  return parts.map((part) => h("li", { value: number, class: part.notes.length > 0 ? "about" : null }, h("code", {}, excerpt(line, part.at) || " "), part.notes.map(said)));
}

/** `notes` have a message and a `line` and `column`, or the `at` of a reason. What is shown, and the notes that are about no single line. */
export function annotated(text, notes) {
  const known = offsets(text, notes.map(({ at }) => at ?? "").filter(Boolean));
  const placed = notes.map((note) => (note.line ? { ...note, of: note } : known.has(note.at) ? { ...note, of: note, ...place(text, known.get(note.at)) } : null)).filter(Boolean);
  const shown = new Set(placed.slice(0, MOST).map(({ of }) => of));
  const elsewhere = notes.filter((note) => !shown.has(note));
  if (placed.length === 0) return { nodes: null, elsewhere };
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const about = new Map();
  for (const note of placed.slice(0, MOST).sort((a, b) => a.line - b.line || a.column - b.column)) about.set(note.line, [...(about.get(note.line) ?? []), note]);
  const wanted = (number) => lines.length <= WHOLE || [...Array(2 * AROUND + 1).keys()].some((away) => about.has(number + away - AROUND));
  const nodes = [];
  let left_out = 0;
  const gap = () => {
    if (left_out > 0) nodes.push(h("li", { class: "gap" }, `${plain(left_out)} ${left_out === 1 ? "line" : "lines"}`));
    left_out = 0;
  };
  for (let number = 1; number <= Math.max(lines.length, 1); number += 1) {
    if (!wanted(number)) {
      left_out += 1;
      continue;
    }
    gap();
    nodes.push(...numbered(lines[number - 1] ?? "", number, about.get(number) ?? []));
  }
  gap();
  const file = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The file, with the outcome of each line" }, h("ol", { class: "source" }, nodes));
  return { nodes: file, elsewhere };
}
