// The read API, and the token that is sent to it.

const BASE = "api/v1";
const KEPT = "dataperf-token";
const UNREACHABLE = { code: "unreachable", title: "the read API does not answer", detail: "Check the connection and reload." };

/** An answer that is a problem: what, and what to do. */
export class Problem extends Error {
  constructor(document) {
    super(document.detail);
    this.title = document.title;
    this.code = document.code;
    this.status = document.status;
  }
}

let isMute = false;
let asked = null; // whose token it is, once for each token

export const token = {
  get: () => (isMute ? null : sessionStorage.getItem(KEPT)),
  set: (value) => sessionStorage.setItem(KEPT, value),
  forget: () => sessionStorage.removeItem(KEPT),
  /** From now on none is sent: where the page stands in somebody else's. */
  mute: () => (isMute = true),
};

/** Who is signed in: a `role`, and of a submitter its name as `submitter`; null for nobody. */
export function whoami() {
  const held = token.get();
  if (!held) return Promise.resolve(null);
  if (asked?.held !== held) {
    const who = ask(["token"]).catch(() => {
      if (asked?.who === who) asked = undefined; // it is asked again next time
      return null;
    });
    asked = { held, who };
  }
  return asked.who;
}

/** The address of an answer. `parts` are the path, `query` what follows it. */
export function address(parts, query = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null));
  const path = [BASE, ...parts.map(encodeURIComponent)].join("/");
  return asked.size > 0 ? `${path}?${asked}` : path;
}

async function answer(parts, query, sent = token.get()) {
  const headers = sent ? { authorization: `Bearer ${sent}` } : {};
  let response;
  try {
    response = await fetch(address(parts, query), { headers, cache: "no-cache" });
  } catch {
    throw new Problem(UNREACHABLE);
  }
  if (response.ok) return response;
  throw await problem(response);
}

async function problem(response) {
  const document = await response.json().catch(() => ({}));
  return new Problem({ code: "fault", status: response.status, title: "the read API failed", detail: `It answered ${response.status}. Try again later.`, ...document });
}

/** A document that is answered to one that is sent. */
export async function post(parts, document) {
  let response;
  try {
    response = await fetch(address(parts), { method: "POST", headers: { authorization: `Bearer ${token.get()}`, "content-type": "application/json" }, body: JSON.stringify(document) });
  } catch {
    throw new Problem(UNREACHABLE);
  }
  if (!response.ok) throw await problem(response);
  return response.json();
}

/** A document. */
export const ask = async (parts, query) => (await answer(parts, query)).json();

/** A file that the token may read, saved by the browser. */
export async function save(parts, name, query) {
  const blob = await (await answer(parts, query)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The bytes of a file. */
export const content = async (parts) => new Uint8Array(await (await answer(parts)).arrayBuffer());

/** The address of an image of one's own, for as long as the page is open. */
export const picture = async (parts) => URL.createObjectURL(await (await answer(parts)).blob());

/** Throws a problem when the token is not valid. */
export const check = (value) => answer(["benchmarks"], {}, value);

/** All pages of a list, up to `most` of its lines, until `isEnough` of them are read; `more` says whether there are others. */
export async function pages(parts, query, member, most, isEnough = () => false) {
  const lines = [];
  let cursor;
  do {
    const page = await ask(parts, { ...query, cursor });
    lines.push(...page[member]);
    cursor = page.next;
  } while (cursor && lines.length < most && !isEnough(lines));
  return { lines, more: Boolean(cursor) };
}

const FIRST = 1000; // rows of a board that are looked through
const FARTHEST = 50_000; // for one's own

/**
 * The rows of a board by the ids of their submissions; of a larger board the best, and `more`. Where the row of a `submitter` is sought, further
 * rows are read until it is there.
 */
export async function standing(benchmark, leaderboard, round, sought = null) {
  const isEnough = (rows) => sought !== null && rows.some((row) => row.submitter === sought.submitter);
  const { lines, more } = await pages(["benchmarks", benchmark, "leaderboards", leaderboard], { round, limit: 200 }, "rows", sought === null ? FIRST : FARTHEST, isEnough);
  return { rows: new Map(lines.map((row) => [row.submission, row])), n: lines.length, more };
}
