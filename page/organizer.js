// What only the organizer sees on the first view: what failed, and what is unfinished. Nothing is changed from here: the read API
// may only read, so the page shows the command that has it evaluated again.

import { ask, whoami } from "./api.js";
import { command, h, href, plain, titled, when, whichCloud } from "./dom.js";

const SHOWN = 50; // of each benchmark; the command line lists all

const line = (benchmark) => (one) =>
  h(
    "tr",
    {},
    h("td", {}, titled(benchmark.id)),
    h("td", {}, one.leaderboard),
    h("th", { scope: "row" }, h("a", { href: href(benchmark.id, "submitter", one.submitter) }, one.submitter)),
    h("td", {}, one.status === "failed" ? "failed" : "not ended"),
    h("td", {}, when(one.received_at)),
    h("td", {}, h("a", { href: href(benchmark.id, "submission", one.submission) }, one.submission.slice(0, 8))),
  );

async function waiting(benchmark) {
  const of = (what) => ask(["benchmarks", benchmark.id, what], { limit: SHOWN });
  const [failed, unfinished] = await Promise.all([of("failed"), of("unfinished")]);
  return { benchmark, lines: [...failed.submissions, ...unfinished.submissions], nFailed: failed.submissions.length, more: failed.next || unfinished.next };
}

/** The section, for whoever has the organizer's token; null for everybody else. */
export async function forOrganizer(benchmarks) {
  if (benchmarks.length === 0 || (await whoami())?.role !== "organizer") return null;
  const all = await Promise.all(benchmarks.map(waiting));
  const { submitting } = await ask(["benchmarks", benchmarks[0].id]);
  const some = all.filter(({ lines }) => lines.length > 0);
  const nFailed = all.reduce((n, of) => n + of.nFailed, 0);
  const head = ["Benchmark", "Leaderboard", "Submitter", "", "Received", "Submission"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "State")));
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "waiting" },
    h("h2", { id: "waiting" }, "Failed and unfinished"),
    h("p", { class: "note" }, "Also for organizers: ", h("a", { href: href("audit") }, "figures of an audit"), ", ", h("a", { href: href("models") }, "weights of models"), "."),
    some.length === 0
      ? h("p", { class: "empty" }, "Nothing has failed, and nothing is unfinished.")
      : [
          h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Failed and unfinished submissions" }, h("table", { class: "files" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, some.map(({ benchmark, lines }) => lines.map(line(benchmark)))))),
          some.some(({ more }) => more) ? h("p", { class: "note" }, `The first ${plain(SHOWN)} of each benchmark; `, h("code", {}, "dataperf status --failed"), " lists all.") : null,
          nFailed > 0 ? [h("p", {}, "Once the cause is mended, this has all that failed evaluated again; with a submission's id in place of --all-failed, that one:"), command(`dataperf redrive --all-failed${whichCloud(submitting).dataperf}`, "the command to evaluate again")] : null,
        ],
  );
}
