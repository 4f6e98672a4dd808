// Uploading from the page: a file is looked at, sent straight to the bucket by a form that is signed for it alone, and followed until
// it has ended.

import { Problem, ask, post } from "./api.js";
import { described } from "./archive.js";
import { annotated } from "./artifact.js";
import { h, href, pill, plain, prose, say, score, size, some, submittingTo } from "./dom.js";
import { kept, takesDrops } from "./drop.js";
import { inspect } from "./inspect.js";

const FIRST_WAIT = 400; // milliseconds before the outcome is asked for again, and the longest
const LONGEST_WAIT = 10_000;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Sends a form with its file; `moved` is called with the share that is sent. */
function send({ url, fields }, file, moved) {
  const form = new FormData();
  for (const { name, value } of fields) form.append(name, value);
  form.append("file", file);
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({ loaded, total }) => moved(total > 0 ? loaded / total : 0));
    request.addEventListener("load", () => {
      if (request.status < 300) return done();
      const said = /<Message>([^<]*)<\/Message>/.exec(request.responseText)?.[1];
      const detail = /expired/i.test(said ?? "") ? "The form was good for five minutes, and they are over: upload again." : `${said ?? `It answered ${request.status}.`} Upload again; if it stays so, tell the organizer.`;
      return failed(new Problem({ code: "refused", status: request.status, title: "the bucket refused the file", detail }));
    });
    request.addEventListener("error", () => failed(new Problem({ code: "unreachable", title: "the bucket does not answer", detail: "Check the connection and upload again: nothing was stored." })));
    request.open("POST", url);
    request.send(form);
  });
}

/** The line of the history that an upload has become, once it has ended; null when `goes_on` says that nobody waits. */
async function followed(benchmark, { key, submitter }, goesOn, tell) {
  for (let wait = FIRST_WAIT; goesOn(); wait = Math.min(wait * 1.5, LONGEST_WAIT)) {
    const { submissions } = await ask(["benchmarks", benchmark, "submissions"], { submitter, limit: 20 }).catch((problem) => {
      if (problem.status >= 400 && problem.status < 500) throw problem; // such as a token that expires meanwhile
      return { submissions: [] };
    });
    const line = submissions.find(({ private: own }) => own?.key === key);
    if (line && line.status !== "received") return line;
    tell(line ? "Received. It is being evaluated." : "Stored. It waits for its turn.");
    await pause(wait);
  }
  return null;
}

/** What is said of a file: beside its lines, and above them what is about no single line. */
function said({ nodes, elsewhere }) {
  const line = ({ message, code, at, line, column }) => h("li", {}, line ? `Line ${plain(line)}, column ${plain(column)}: ` : null, prose(message), code ? [" ", h("code", {}, code)] : null, at ? [" at ", h("code", {}, at)] : null);
  return [elsewhere.length > 0 ? h("ul", {}, elsewhere.map(line)) : null, nodes];
}

/** Why a file can't be uploaded. */
const wrongs = ({ text, problems, n_problems: n }, name) =>
  problems.length === 1 && !problems[0].line ? h("p", { class: "problem" }, `${name} can't be uploaded. ${problems[0].message}`) : [h("p", { class: "problem" }, `${name} can't be uploaded: ${some(n, "place")} to mend${n > problems.length ? `, of which the first ${problems.length} are shown` : ""}.`), said(text === null ? { nodes: null, elsewhere: problems } : annotated(text, problems))];

/** What became of an upload, with every reason beside its line. */
async function outcome(benchmark, line, file) {
  const whole = await ask(["benchmarks", benchmark, "submissions", line.submission]);
  const { reasons = [], n_reasons: n = 0, cause = null } = whole.private ?? {};
  const link = h("a", { href: href(benchmark, "submission", line.submission) }, line.status === "scored" ? "Its page, with its receipt and rank" : "Its page, with its receipt");
  return [h("p", { class: "outcome" }, pill(line.status), " ", line.score === null ? some(n, "reason") : score(line.score), ". ", link), cause ? h("p", {}, h("b", {}, "One cause of many of them: "), prose(cause.message)) : null, reasons.length > 0 ? said(await described(new Uint8Array(await file.arrayBuffer()), reasons)) : null];
}

/** The panel with which the holder of a submitter's token uploads to a board. */
export function uploads(benchmark, board, round, who, of) {
  const submitting = submittingTo(benchmark, of);
  if (!submitting.uploads) return null;
  const panel = (...nodes) => h("section", { class: "panel wide-panel uploads", "aria-labelledby": "upload" }, h("h2", { id: "upload" }, "Upload a file"), nodes);
  if (who?.role !== "submitter") {
    const why = who ? "The organizer's token uploads nothing: sign in with a submitter's." : "Sign in with the token that the organizer gave you, and upload from here.";
    return panel(h("p", {}, why), h("button", { type: "button", onclick: () => document.getElementById("who").click() }, who ? "Sign in as a submitter" : "Sign in to upload"));
  }
  const input = h("input", { type: "file", id: "file" });
  const found = h("div", { class: "found", "aria-live": "polite" });
  const button = h("button", { type: "button", disabled: true }, `Upload as ${who.submitter}`);
  const progress = h("progress", { max: 1, value: 0, "aria-label": "Sent", hidden: true });
  const node = panel(
    h("p", {}, h("label", { for: "file" }, "Choose a file or drop one here"), ` of up to ${size(submitting.max_bytes)}. It is looked at on your own machine first.`),
    h("div", { class: "drop" }, input, button),
    progress,
    found,
  );
  let chosen = null;
  const take = async (file) => {
    if (input.disabled) return; // one at a time
    chosen = null;
    button.disabled = true;
    found.replaceChildren(h("p", {}, `Reading ${file.name} …`));
    const looked = await inspect(file, submitting);
    if (looked.n_problems > 0) return void found.replaceChildren(...[wrongs(looked, file.name)].flat(Infinity).filter(Boolean));
    chosen = { file };
    button.disabled = false;
    found.replaceChildren(h("p", {}, `${file.name}: ${size(file.size)} of ${{ json: "JSON", jsonl: "JSON Lines", csv: "CSV", zip: "zip archive", wasm: "WebAssembly" }[looked.form]}, ready to upload to ${board}${round === "open" ? "" : `, round ${round}`}.`));
  };
  const tell = (text) => {
    if (found.textContent !== text) found.replaceChildren(h("p", {}, text));
  };
  const upload = async () => {
    const { file } = chosen;
    button.disabled = true;
    input.disabled = true;
    try {
      const form = await post(["uploads"], { benchmark: benchmark.id, leaderboard: board, round, submitter: who.submitter, file: file.name, n_bytes: file.size });
      progress.hidden = false;
      tell(`Sending ${file.name} …`);
      await send(form, file, (share) => (progress.value = share));
      progress.hidden = true;
      const line = await followed(benchmark.id, form, () => node.isConnected, tell);
      if (!line) return;
      found.replaceChildren(...(await outcome(benchmark.id, line, file)).flat(Infinity).filter(Boolean));
      say(`${file.name}: ${line.status}.`);
    } catch (problem) {
      progress.hidden = true;
      button.disabled = false; // the same file may be sent again
      found.replaceChildren(h("p", { class: "problem", role: "alert" }, problem.title ? `${problem.title.charAt(0).toUpperCase()}${problem.title.slice(1)}: ` : "", prose(problem.message)));
    } finally {
      input.disabled = false;
      input.value = "";
    }
  };
  input.addEventListener("change", () => input.files[0] && take(input.files[0]));
  button.addEventListener("click", upload);
  takesDrops(node, take);
  const dropped = kept();
  if (dropped) take(dropped);
  return node;
}
