// Where things are in a text: the place of a syntax error, and of what a reason's `at` names.

/** What is wrong with a text, and where: an offset in it. */
export class Wrong extends Error {
  constructor(message, offset) {
    super(message);
    this.offset = offset;
  }
}

const DEEPEST = 120;
/** A key as it stands in a JSON pointer. */
export const escaped = (key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

/** Reads JSON; calls `found(pointer, offset)` for each value and throws `Wrong` at the first mistake. */
export function readJson(text, found = () => {}) {
  let at = 0;
  const fail = (message, offset = at) => {
    throw new Wrong(message, offset);
  };
  const space = () => {
    while (at < text.length && " \t\n\r".includes(text[at])) at += 1;
  };
  const string = () => {
    const begun = at;
    for (at += 1; text[at] !== '"'; at += 1) {
      if (at >= text.length || text[at] === "\n") fail("this string has no closing quote", begun);
      if (text[at] < " ") fail("a string has a control character: write it as \\u00XX");
      if (text[at] === "\\") at += 1;
    }
    at += 1;
    try {
      return JSON.parse(text.slice(begun, at));
    } catch {
      return fail("this string has an escape that JSON does not know", begun);
    }
  };
  const word = () => {
    const [read] = /^[^\s,\]}:]*/.exec(text.slice(at, at + 400));
    if (!/^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(read)) {
      const hint = read.startsWith("'") ? "write texts in double quotes" : read === "" ? (at >= text.length ? "the file ends here" : "a value is missing") : /^(NaN|-?Infinity)$/.test(read) ? "JSON has no such number" : "write texts in double quotes, or true, false, null or a number";
      fail(`expected a value: ${hint}`);
    }
    at += read.length;
  };
  const list = (depth, end, one) => {
    const begun = at;
    at += 1;
    space();
    if (text[at] === end) return void (at += 1);
    const unclosed = () => at >= text.length && fail(`this ${end === "]" ? "array" : "object"} is not closed by \`${end}\``, begun);
    for (let n = 0; ; n += 1) {
      unclosed();
      one(n, depth + 1);
      space();
      if (text[at] === end) return void (at += 1);
      unclosed();
      if (text[at] !== ",") fail(`\`,\` or \`${end}\` was expected`);
      at += 1;
      space();
      if (text[at] === end) fail("remove the last comma, or add what follows it");
    }
  };
  const value = (pointer, depth) => {
    space();
    if (depth > DEEPEST) fail("values are nested too deeply");
    found(pointer, at);
    if (text[at] === "{") {
      list(depth, "}", (_, deeper) => {
        if (text[at] !== '"') fail("expected a name in double quotes");
        const name = string();
        space();
        if (text[at] !== ":") fail("expected `:` after the name");
        at += 1;
        value(`${pointer}/${escaped(name)}`, deeper);
      });
    } else if (text[at] === "[") list(depth, "]", (n, deeper) => value(`${pointer}/${n}`, deeper));
    else if (text[at] === '"') string();
    else word();
  };
  value("", 0);
  space();
  if (at < text.length) fail("the file has more than one JSON value");
}

/** Line and column, from 1, of an offset. */
export function place(text, offset) {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** The lines of a CSV as lists of cells; throws `Wrong` where a quote is not closed. */
export function readCsv(text) {
  const rows = [];
  let [row, cell, quoted, line, begun] = [[], "", -1, 1, 1];
  const ended = () => {
    row.push(cell);
    cell = "";
  };
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (c === "\n") line += 1;
    if (quoted >= 0) {
      if (c !== '"') cell += c;
      else if (text[at + 1] === '"') [cell, at] = [`${cell}"`, at + 1];
      else quoted = -1;
    } else if (c === '"' && cell === "") quoted = at;
    else if (c === ",") ended();
    else if (c === "\n") {
      ended();
      rows.push({ line: begun, cells: row });
      [row, begun] = [[], line];
    } else if (c !== "\r") cell += c;
  }
  if (quoted >= 0) throw new Wrong("this quote is not closed", quoted);
  if (cell !== "" || row.length > 0) {
    ended();
    rows.push({ line: begun, cells: row });
  }
  return rows;
}

/** The offsets of what reasons are about, by their `at`: JSON pointers, lines with or without a column, fields between commas, bytes. Those of no place in the text are left out. */
export function offsets(text, ats) {
  const known = new Map();
  const pointers = new Set(ats.filter((at) => at.startsWith("/")));
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  for (const at of ats) {
    const [, line, column] = /(?:^|\s)line (\d+)(?:,? column (\d+))?/.exec(at) ?? [];
    const [, field] = /\sfield (\d+)$/.exec(at) ?? [];
    const [, byte] = /^byte (\d+)$/.exec(at) ?? [];
    if (line && starts[line - 1] !== undefined) known.set(at, Math.min(starts[line - 1] + (column ? column - 1 : 0), text.length));
    else if (field) known.set(at, text.split(",").slice(0, field - 1).reduce((sum, before) => sum + before.length + 1, 0));
    else if (byte) known.set(at, new TextDecoder().decode(new TextEncoder().encode(text).slice(0, Number(byte))).length);
  }
  if (pointers.size > 0) {
    const deepest = new Map(); // a member that is missing is about the object that lacks it
    try {
      readJson(text, (pointer, offset) => {
        if (pointers.has(pointer)) known.set(pointer, offset);
        for (const wanted of pointers) if (pointer !== "" && wanted.startsWith(`${pointer}/`) && (deepest.get(wanted)?.length ?? 0) < pointer.length) {
          deepest.set(wanted, pointer);
          if (!known.has(wanted)) known.set(`\0${wanted}`, offset);
        }
      });
    } catch {
      // what was read before the mistake is known
    }
    for (const wanted of pointers) if (!known.has(wanted) && known.has(`\0${wanted}`)) known.set(wanted, known.get(`\0${wanted}`));
  }
  return known;
}
