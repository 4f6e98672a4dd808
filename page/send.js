// From the browser straight into the bucket: a form is signed for one file, the file is sent by it, and its submission is followed until
// it has ended.

import { Problem, ask, post } from "./api.js";

const FIRST_WAIT = 250; // milliseconds before the outcome is asked for again, and the longest
const LONGEST_WAIT = 10_000;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Sends a form with its file; `moved` is called with the share that is sent. */
export function send({ url, fields }, file, moved = () => {}) {
  const form = new FormData();
  for (const { name, value } of fields) form.append(name, value);
  form.append("file", file);
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({ loaded, total }) => moved(total > 0 ? loaded / total : 0));
    request.addEventListener("load", () => {
      if (request.status < 300) return done();
      const said = /<Message>([^<]*)<\/Message>/.exec(request.responseText)?.[1];
      const detail = /expired/i.test(said ?? "") ? "The form expired after five minutes: upload again." : `${said ?? `It answered ${request.status}.`} Upload again; if that does not help, tell the organizer.`;
      return failed(new Problem({ code: "refused", status: request.status, title: "the bucket refused the file", detail }));
    });
    request.addEventListener("error", () => failed(new Problem({ code: "unreachable", title: "the bucket does not answer", detail: "Check the connection and upload again: nothing was stored." })));
    request.open("POST", url);
    request.send(form);
  });
}

/** The line of the history that an upload has become, once it has ended; null when `goesOn` says that nobody waits. */
export async function followed(benchmark, { key, submitter }, goesOn, tell = () => {}) {
  for (let wait = FIRST_WAIT; goesOn(); wait = Math.min(wait * 1.5, LONGEST_WAIT)) {
    const { submissions } = await ask(["benchmarks", benchmark, "submissions"], { submitter, limit: 20 }).catch((problem) => {
      if (problem.status >= 400 && problem.status < 500) throw problem; // such as a token that expires meanwhile
      return { submissions: [] };
    });
    const line = submissions.find(({ private: own }) => own?.key === key);
    if (line && line.status !== "received") return line;
    tell(line ? "Received. The evaluation is running." : "Stored. It waits in the queue.");
    await pause(wait);
  }
  return null;
}

/** Uploads one JSON Lines line of a kind of file, and gives what became of it: `{ upload, status, reasons, ...details }`, where `upload` is the file's submission; null when nobody waits. */
export async function sendLine(benchmark, kind, who, line, goesOn, tell) {
  const bytes = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  const name = `${kind}-${new Date().toISOString().replace(/[^0-9]/g, "")}.jsonl`;
  const form = await post(["uploads"], { benchmark, leaderboard: kind, submitter: who.submitter, file: name, n_bytes: bytes.length });
  await send(form, new File([bytes], name, { type: "application/jsonl" }));
  const ended = await followed(benchmark, form, goesOn, tell);
  if (!ended) return null;
  const whole = await ask(["benchmarks", benchmark, "submissions", ended.submission]);
  const { lines = [], reasons = [] } = whole.private ?? {};
  return { upload: ended.submission, ...(lines[0] ?? { status: ended.status, reasons }) };
}
