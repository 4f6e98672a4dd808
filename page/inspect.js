// A file that is about to be uploaded, looked at before anything is sent: its size, what it is, whether it can be read.

import { size } from "./dom.js";
import { Wrong, escaped, place, readCsv, readJson } from "./places.js";

const MOST = 20; // problems that are listed
const NAMED = 12; // keys that are listed
const COMPARED = 60; // characters of a key that are compared and shown

const SIGNATURES = [
  [[0x1f, 0x8b], (name) => `It is compressed by gzip. Decompress it and upload the result: gunzip ${name}`],
  [[0x42, 0x5a, 0x68], (name) => `It is compressed by bzip2. Decompress it and upload the result: bunzip2 ${name}`],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], (name) => `It is compressed by xz. Decompress it and upload the result: unxz ${name}`],
  [[0x28, 0xb5, 0x2f, 0xfd], (name) => `It is compressed by Zstandard. Decompress it and upload the result: unzstd ${name}`],
  [[0x37, 0x7a, 0xbc, 0xaf], () => "It is a 7z archive. Unpack it and upload the file in it."],
  [[0x50, 0x41, 0x52, 0x31], () => "It is a Parquet file. Write its content as text."],
  [[0x25, 0x50, 0x44, 0x46], () => "It is a PDF document. Choose the file with your submission."],
  [[0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59], () => "It is a NumPy array. Write its values as text."],
  [[0x41, 0x52, 0x52, 0x4f, 0x57, 0x31], () => "It is an Arrow or Feather file. Write the table in it as CSV."],
  [[0x89, 0x48, 0x44, 0x46], () => "It is an HDF5 file. Write the table in it as CSV."],
];

/** Text that is no submission: what it is, and what to do. */
const TEXTS = [
  [/^\s*<(!doctype html|html|head|body|title)/i, "It is a web page. Downloads often save a web page instead of the file. Sign in and fetch the file itself."],
  [/^version https:\/\/git-lfs\.github\.com\/spec\//, "It is a Git LFS pointer, which has only the file’s size and hash. Fetch the file itself: git lfs pull"],
];
const begins = (bytes, signature) => signature.every((byte, idx) => bytes[idx] === byte);

/** The byte order of text in UTF-16, also without a mark: then every second byte of its beginning is 0. */
function utf16(bytes) {
  if (begins(bytes, [0xff, 0xfe])) return "little-endian";
  if (begins(bytes, [0xfe, 0xff])) return "big-endian";
  const first = bytes.subarray(0, 200);
  const zeros = (odd) => first.filter((byte, idx) => idx % 2 === odd && byte === 0).length;
  const most = first.length * 0.4;
  return first.length < 4 ? null : zeros(1) > most ? "little-endian" : zeros(0) > most ? "big-endian" : null;
}

/** How many bytes go before the one at which UTF-8 ends; -1 where all are UTF-8. */
function notUtf8(bytes) {
  const decodes = (n) => {
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, n), { stream: true });
      return true;
    } catch {
      return false;
    }
  };
  if (decodes(bytes.length)) return -1;
  let [low, high] = [0, bytes.length]; // the first `low` bytes decode, the first `high` do not
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (decodes(middle)) low = middle;
    else high = middle;
  }
  return low;
}

const called = (forms) => {
  const names = forms.map((form) => ({ json: "JSON", jsonl: "JSON Lines", csv: "CSV", zip: "a zip archive", wasm: "a WebAssembly module (.wasm)", py: "a program in Python (.py)" })[form]);
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} or ${names.at(-1)}` : names[0];
};

/** How many letters have to be changed, added or removed for one text to become another. */
function distance(from, to) {
  let row = [...Array(to.length + 1).keys()];
  for (let at = 0; at < from.length; at += 1) {
    const next = [at + 1];
    for (let idx = 0; idx < to.length; idx += 1) next.push(Math.min(next[idx] + 1, row[idx + 1] + 1, row[idx] + (from[at] === to[idx] ? 0 : 1)));
    row = next;
  }
  return row.at(-1);
}

/** Which of the keys somebody may have meant, or all of them. */
function offer(key, keys) {
  const list = (names) => names.map((name) => `\`${name}\``).join(", ");
  const away = (known) => distance(key.toLowerCase(), known.toLowerCase());
  const near = keys.filter((known) => away(known) <= known.length / 3);
  if (near.length > 0) return `did you mean ${list(near.slice(0, 3))}?`;
  if (keys.length === 1) return `the only key is ${list(keys)}`;
  return `the keys are ${list(keys.slice(0, NAMED))}${keys.length > NAMED ? ` and ${keys.length - NAMED} more` : ""}`;
}

/** What is wrong with JSON: where it can't be read, and where the object has other keys than `keys`, unless these are none. */
function ofJson(text, keys = []) {
  const isChecked = keys.length > 0;
  const isObject = /^\s*\{/.test(text);
  const known = new Set(keys.map((key) => `/${escaped(key)}`));
  const unknown = []; // with their offsets
  const found = (pointer, offset) => {
    const isKey = pointer !== "" && !pointer.includes("/", 1);
    if (isKey && !known.has(pointer)) unknown.push([pointer.slice(1).replaceAll("~1", "/").replaceAll("~0", "~").slice(0, COMPARED), offset]);
  };
  try {
    readJson(text, isChecked && isObject ? found : undefined);
  } catch (wrong) {
    if (!(wrong instanceof Wrong)) throw wrong;
    return [{ message: wrong.message, ...place(text, wrong.offset) }];
  }
  if (isChecked && !isObject) return [{ message: "expected an object here, `{…}`, found an array", line: 1, column: 1 }];
  // only those that are shown are looked for
  return unknown.map(([key, offset], idx) => (idx < MOST ? { message: `\`${key}\` is not a key here: ${offer(key, keys)}`, ...place(text, offset) } : {}));
}

/** What is wrong with each line of JSON Lines, which are objects. */
function ofJsonLines(text) {
  const ofLine = (line) => {
    const problems = ofJson(line);
    return problems.length > 0 || line.trim().startsWith("{") ? problems : [{ message: "each line has to be an object, `{…}`", column: 1 }];
  };
  return text.split("\n").flatMap((line, idx) => (line.trim() ? ofLine(line).map((problem) => ({ ...problem, line: idx + 1 })) : []));
}

/** The problems of a CSV. The platform alone checks files with semicolons, tabs or a line such as `sep=;`. */
function ofCsv(file) {
  const text = file.replace(/\r\n?/g, "\n");
  const first = text.slice(0, text.indexOf("\n") >>> 0);
  if (/^\s*"?sep=/i.test(first) || (/[;\t]/.test(first) && !first.includes(","))) return [];
  let rows;
  try {
    rows = readCsv(text);
  } catch (wrong) {
    if (!(wrong instanceof Wrong)) throw wrong;
    return [{ message: wrong.message, ...place(text, wrong.offset) }];
  }
  const n = rows[0]?.cells.length ?? 0;
  if (rows.length < 2) return [{ message: "the file has only one line; a CSV has the names of its columns in the first line and data below it", line: 1, column: 1 }];
  return rows.filter(({ cells }) => cells.length !== n && !(cells.length === 1 && cells[0] === "")).map(({ line, cells }) => ({ message: `${cells.length === 1 ? "1 cell" : `${cells.length} cells`}, where the first line has ${n}`, line, column: 1 }));
}

/** What a file comes to, of which an object in JSON may have the `keys`, and any where they are none: its form, its text (none of an archive) and what is wrong with it, each with line and column where there is one. */
export async function inspect(file, { forms, keys, max_bytes: most }) {
  const only = (message, of = {}) => ({ form: null, text: null, problems: [{ message, ...of }], n_problems: 1 });
  if (file.size === 0) return only("It is empty.");
  if (file.size > most) return only(`It has ${size(file.size)}; at most ${size(most)} are allowed.`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const ending = forms.includes("py") ? ["py", "zip"].find((form) => file.name.toLowerCase().endsWith(`.${form}`)) : null;
  if (ending) return { form: ending, text: null, problems: [], n_problems: 0 };
  if (forms.includes("wasm")) return begins(bytes, [0x00, 0x61, 0x73, 0x6d]) ? { form: "wasm", text: null, problems: [], n_problems: 0 } : only(`It has to be ${called(forms)}, because programs compete in this round.`);
  const packed = SIGNATURES.find(([signature]) => begins(bytes, signature));
  if (packed) return only(packed[1](file.name));
  if (begins(bytes, [0x50, 0x4b])) {
    if (!forms.includes("zip")) return only(`It is a zip archive, or a spreadsheet such as .xlsx. Unpack it, and upload the file in it as ${called(forms)}.`);
    const tail = bytes.subarray(-65_557);
    const ends = tail.some((_, idx) => begins(tail.subarray(idx, idx + 4), [0x50, 0x4b, 5, 6]));
    return ends ? { form: "zip", text: null, problems: [], n_problems: 0 } : only("The zip archive is cut off. Pack it again.");
  }
  const order = utf16(bytes);
  if (order && forms.includes("csv") && bytes[0] + bytes[1] === 0xff + 0xfe) {
    const problems = ofCsv(new TextDecoder(order === "little-endian" ? "utf-16le" : "utf-16be").decode(bytes));
    return { form: "csv", text: null, problems: problems.slice(0, MOST), n_problems: problems.length };
  }
  if (order) return only(`It is text in UTF-16 (${order}). Save it as UTF-8: in an editor by “Save as”, or by: iconv -f UTF-16 -t UTF-8 ${file.name}`);
  const bad = notUtf8(bytes);
  if (bad >= 0) {
    const before = new TextDecoder().decode(bytes.subarray(0, bad), { stream: true }); // without a character that has only begun
    return only("This is not UTF-8. Save the file as UTF-8.", place(before, before.length));
  }
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const other = TEXTS.find(([begin]) => begin.test(text));
  if (other) return only(other[1]);
  const looksLikeJson = /^\s*[{[]/.test(text.replace("\ufeff", ""));
  const form = looksLikeJson || !forms.includes("csv") ? (forms.includes("jsonl") ? "jsonl" : forms.includes("json") ? "json" : "csv") : "csv";
  if (form !== "csv" && text.startsWith("\ufeff")) return only("It begins with a byte order mark. Save it as UTF-8 without one (“UTF-8”, not “UTF-8 with BOM”).", { line: 1, column: 1 });
  if (form !== "csv" && !looksLikeJson) return only(`It has to be ${called(forms)}, and this is neither an object nor an array.`, { line: 1, column: 1 });
  const problems = form === "jsonl" ? ofJsonLines(text) : form === "json" ? ofJson(text, keys) : ofCsv(text.replace("\ufeff", ""));
  return { form, text, problems: problems.slice(0, MOST), n_problems: problems.length };
}
