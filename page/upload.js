// Uploading from the page: a file is looked at, sent straight to the bucket by a form that is signed for it alone, and followed until
// it has ended.

import { ask, post, standing } from "./api.js";
import { described } from "./archive.js";
import { annotated } from "./artifact.js";
import { acceptance } from "./consent.js";
import { h, href, pill, plain, prose, say, score, size, some, submittingTo } from "./dom.js";
import { kept, takesDrops } from "./drop.js";
import { inspect } from "./inspect.js";
import { followed, send } from "./send.js";

const FORMS = { json: "JSON", jsonl: "JSON Lines", csv: "CSV", zip: "zip archive", wasm: "WebAssembly", py: "Python" };

/** What a file of each kind holds: `kinds` of who asks for images, or of who writes texts. */
const holds = (kinds) => ({ generate: "prompts for images", submit: kinds.includes("generate") ? "pairs of a prompt and its image" : "examples", verdict: "verdicts, from raters only" });

/** The choice of what a file holds, where files are of several kinds: a rater's first choice are verdicts. */
function choosing(kinds, isRater) {
  const option = (name) => h("option", { value: name, selected: isRater && name === "verdict" }, `${holds(kinds)[name] ?? name} (${name})`);
  return h("select", { id: "kind" }, kinds.map(option));
}

/** What is said of a file: beside its lines, and above them what is about no single line. */
function said({ nodes, elsewhere }) {
  const line = ({ message, code, at, line, column }) => h("li", {}, line ? `Line ${plain(line)}, column ${plain(column)}: ` : null, prose(message), code ? [" ", h("code", {}, code)] : null, at ? [" at ", h("code", {}, at)] : null);
  return [elsewhere.length > 0 ? h("ul", {}, elsewhere.map(line)) : null, nodes];
}

/** Why a file can't be uploaded. */
const wrongs = ({ text, problems, n_problems: n }, name) =>
  problems.length === 1 && !problems[0].line ? h("p", { class: "problem" }, `${name} can't be uploaded. ${problems[0].message}`) : [h("p", { class: "problem" }, `${name} can't be uploaded: ${some(n, "problem")} to fix${n > problems.length ? `; these are the first ${problems.length}` : ""}.`), said(text === null ? { nodes: null, elsewhere: problems } : annotated(text, problems))];

/** What became of an upload, with every reason beside its line. */
async function outcome(benchmark, line, file, digits) {
  const whole = await ask(["benchmarks", benchmark, "submissions", line.submission]);
  const { reasons: ofFile = [], n_reasons: n = 0, cause = null, lines = [] } = whole.private ?? {};
  const reasons = [...ofFile, ...lines.flatMap((one) => one.reasons ?? [])];
  const taken = lines.filter(({ status }) => status === "accepted").length;
  const link = h("a", { href: href(benchmark, "submission", line.submission) }, "View submission and receipt");
  const board = line.score === null ? null : await standing(benchmark, line.leaderboard, line.round, { submitter: line.submitter }).catch(() => null);
  const rank = board?.rows.get(line.submission)?.rank;
  return [h("p", { class: "outcome" }, pill(line.status), " ", line.score !== null ? `${score(line.score, digits)}${rank ? `, rank ${plain(rank)}` : ""}` : line.status === "scored" ? "Score withheld until the round shows results" : lines.length > 0 ? `${plain(taken)} of ${some(lines.length, "line")} taken` : some(n, "reason"), ". ", link), cause ? h("p", {}, h("b", {}, "One mistake explains many of them: "), prose(cause.message)) : null, reasons.length > 0 ? said(await described(new Uint8Array(await file.arrayBuffer()), reasons)) : null];
}

/** The panel with which the holder of a submitter's token uploads to a board, of which `page` tells how its scores are shown and which keys a file has. */
export function uploads(benchmark, { leaderboard: board, digits, keys }, round, who, of) {
  const submitting = submittingTo(benchmark, of);
  const panel = (...nodes) => h("section", { class: "panel wide-panel uploads", "aria-labelledby": "upload" }, h("h2", { id: "upload" }, "Upload a file"), nodes);
  if (who?.role !== "submitter") {
    const why = who ? "The organizer's token can't upload: sign in with a submitter's token." : "Sign in with the token that the organizer gave you, and upload from here.";
    return panel(h("p", {}, why), h("button", { type: "button", onclick: () => document.getElementById("who").click() }, who ? "Sign in as a submitter" : "Sign in to upload"));
  }
  const { kinds } = submitting;
  const kind = kinds.length > 0 ? choosing(kinds, Boolean(who.is_rater?.includes(benchmark.id))) : null;
  const target = () => (kind ? kind.value : board);
  const most = () => (kind ? submitting.max_bytes_of_kinds[kind.value] : submitting.max_bytes);
  const largest = h("span", { id: "largest" }, size(most()));
  const input = h("input", { type: "file", id: "file" });
  const found = h("div", { class: "found", "aria-live": "polite" });
  const button = h("button", { type: "button", disabled: true }, `Upload as ${who.submitter}`);
  const progress = h("progress", { max: 1, value: 0, "aria-label": "Sent", hidden: true });
  const accepting = acceptance("terms-accepted", of?.round, href(benchmark.id, "board", board, round, "rules"));
  const terms = accepting?.querySelector("input") ?? null;
  const node = panel(
    accepting,
    h("p", {}, h("label", { for: "file" }, "Choose a file or drop one here"), ", up to ", largest, `${kind ? ", with one JSON object on each line" : ""}. Your browser checks its size and form before the upload.`),
    kind ? h("p", {}, h("label", { for: "kind" }, "The file contains "), kind) : null,
    h("div", { class: "drop" }, input, button),
    progress,
    found,
  );
  const currentKeys = () => ask(["benchmarks", benchmark.id, "leaderboards", board], { round, limit: 1 }).then((page) => page.keys, () => keys);
  let chosen = null;
  let last = null; // the file that was looked at last and not uploaded: another kind may have another limit
  const ready = () => {
    const { file, form } = chosen;
    found.replaceChildren(h("p", {}, `${file.name}: ${size(file.size)} of ${FORMS[form]}, ready to upload to ${target()}${round === "open" || kind ? "" : `, round ${round}`}.`));
  };
  const allow = () => (button.disabled = !chosen || input.disabled || (terms !== null && !terms.checked));
  terms?.addEventListener("change", allow);
  const take = async (file) => {
    if (input.disabled) return; // one at a time
    chosen = null;
    last = file;
    button.disabled = true;
    found.replaceChildren(h("p", {}, `Reading ${file.name} …`));
    const to = target();
    const rules = { ...submitting, max_bytes: most() };
    let looked = await inspect(file, { ...rules, keys });
    // the round may have got another data set, with other keys, since the page was loaded
    if (looked.n_problems > 0 && keys.length > 0) looked = await inspect(file, { ...rules, keys: await currentKeys() });
    if (last !== file || target() !== to) return; // another one is looked at, or the same one again
    if (looked.n_problems > 0) return void found.replaceChildren(...[wrongs(looked, file.name)].flat(Infinity).filter(Boolean));
    chosen = { file, form: looked.form };
    allow();
    ready();
  };
  const tell = (text) => {
    if (found.textContent !== text) found.replaceChildren(h("p", {}, text));
  };
  const upload = async () => {
    const { file } = chosen;
    button.disabled = true;
    input.disabled = true;
    try {
      const form = await post(["uploads"], { benchmark: benchmark.id, leaderboard: target(), ...(kind ? {} : { round }), submitter: who.submitter, file: file.name, n_bytes: file.size });
      progress.hidden = false;
      tell(`Sending ${file.name} …`);
      await send(form, file, (share) => (progress.value = share));
      progress.hidden = true;
      const line = await followed(benchmark.id, form, () => node.isConnected, tell);
      if (!line) return;
      [last, chosen] = [null, null];
      found.replaceChildren(...(await outcome(benchmark.id, line, file, digits)).flat(Infinity).filter(Boolean));
      say(`${file.name}: ${line.status}.`);
    } catch (problem) {
      progress.hidden = true;
      input.disabled = false;
      allow(); // the same file may be sent again
      found.replaceChildren(h("p", { class: "problem", role: "alert" }, problem.title ? `${problem.title.charAt(0).toUpperCase()}${problem.title.slice(1)}: ` : "", prose(problem.message)));
    } finally {
      input.disabled = false;
      input.value = "";
    }
  };
  input.addEventListener("change", () => input.files[0] && take(input.files[0]));
  kind?.addEventListener("change", () => {
    largest.textContent = size(most());
    if (last) take(last);
  });
  button.addEventListener("click", upload);
  takesDrops(node, take);
  const dropped = kept();
  if (dropped) take(dropped);
  return node;
}
