// What is said of a file, beside its lines; of a zip archive, beside the lines of the files in it.

import { annotated } from "./artifact.js";
import { h } from "./dom.js";

const MOST_BYTES = 4_000_000; // of one file in an archive
const [ENTRY, END] = [0x02014b50, 0x06054b50];
const STORED = 0;
const DEFLATED = 8;

const asText = (bytes) => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
};

/** What a compressed file unpacks to; null where that is too much, or it is damaged. */
async function inflated(packed) {
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let n_bytes = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      parts.push(read.value);
      n_bytes += read.value.length;
      if (n_bytes > MOST_BYTES) {
        await reader.cancel();
        return null;
      }
    }
  } catch {
    return null;
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The files of an archive, each with its name and its packed bytes; none of one that is damaged. */
function entries(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = [];
  try {
    let end = bytes.length - 22;
    while (end >= 0 && view.getUint32(end, true) !== END) end -= 1;
    let at = view.getUint32(end + 16, true);
    for (let n = view.getUint16(end + 10, true); n > 0 && view.getUint32(at, true) === ENTRY; n -= 1) {
      const [method, size, named, extra, comment, local] = [view.getUint16(at + 10, true), view.getUint32(at + 20, true), view.getUint16(at + 28, true), view.getUint16(at + 30, true), view.getUint16(at + 32, true), view.getUint32(at + 42, true)];
      const begin = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      found.push({ name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + named)), method, packed: bytes.subarray(begin, begin + size) });
      at += 46 + named + extra + comment;
    }
  } catch (wrong) {
    if (!(wrong instanceof RangeError)) throw wrong;
  }
  return found;
}

const isArchive = (bytes) => bytes[0] === 0x50 && bytes[1] === 0x4b;

/** What a file of an archive unpacks to as text; null where that is too much, or it is none. */
async function unpacked({ method, packed }) {
  const whole = method === STORED ? packed : method === DEFLATED ? await inflated(packed) : null;
  return whole && asText(whole);
}

/** The texts of a file: its own, or of an archive those of its files with their names; null where one of them is no text or too large. */
export async function texts(bytes) {
  if (!isArchive(bytes)) {
    const text = asText(bytes);
    return text === null ? null : [{ name: "", text }];
  }
  const found = await Promise.all(entries(bytes).map(async (entry) => ({ name: entry.name, text: await unpacked(entry) })));
  return found.length === 0 || found.some(({ text }) => text === null) ? null : found;
}

/** `notes` as of `annotated`; of an archive each is beside its line in the file that its `at` begins with. */
export async function described(bytes, notes) {
  if (!isArchive(bytes)) {
    const text = asText(bytes);
    return text === null ? { nodes: null, elsewhere: notes } : annotated(text, notes);
  }
  const nodes = [];
  let elsewhere = notes;
  for (const entry of entries(bytes)) {
    const { name } = entry;
    const isOwn = ({ at }) => at?.startsWith(`${name} `);
    if (!elsewhere.some(isOwn)) continue;
    const text = await unpacked(entry);
    const shown = text ? annotated(text, elsewhere.filter(isOwn)) : { nodes: null };
    if (!shown.nodes) continue;
    nodes.push(h("h3", {}, h("code", {}, name)), shown.nodes);
    elsewhere = [...elsewhere.filter((note) => !isOwn(note)), ...shown.elsewhere];
  }
  return { nodes: nodes.length > 0 ? nodes : null, elsewhere };
}
