// The read API, and the token that is sent to it.

const BASE = "api/v1";
const KEPT = "dataperf-token";

/** An answer that is a problem: what, and what to do. */
export class Problem extends Error {
  constructor(document) {
    super(document.detail);
    this.title = document.title;
    this.code = document.code;
    this.status = document.status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEPT),
  set: (value) => sessionStorage.setItem(KEPT, value),
  forget: () => sessionStorage.removeItem(KEPT),
};

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
    throw new Problem({ code: "unreachable", title: "the read API does not answer", detail: "Check the connection and reload." });
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Problem({ code: "fault", status: response.status, title: "the read API has a fault", detail: `It answered ${response.status}. Try again later.`, ...problem });
}

/** A document. */
export const ask = async (parts, query) => (await answer(parts, query)).json();

/** A file of one's own, saved by the browser. */
export async function save(parts, name) {
  const blob = await (await answer(parts)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The address of an image of one's own, for as long as the page is open. */
export const picture = async (parts) => URL.createObjectURL(await (await answer(parts)).blob());

/** Throws a problem when the token is not valid. */
export const check = (value) => answer(["benchmarks"], {}, value);

/** All pages of a list, up to `most` of its lines; `more` says whether there are others. */
export async function pages(parts, query, member, most) {
  const lines = [];
  let cursor;
  do {
    const page = await ask(parts, { ...query, cursor });
    lines.push(...page[member]);
    cursor = page.next;
  } while (cursor && lines.length < most);
  return { lines, more: Boolean(cursor) };
}
