// One submitter's history.

import { ask, token } from "./api.js";
import { h, href, pill, score, titled, when } from "./dom.js";

export async function submitter(benchmark, name) {
  const parts = ["benchmarks", benchmark, "submissions"];
  const query = { submitter: name, limit: 100 };
  const { kinds } = (await ask(["benchmarks", benchmark])).submitting; // what stands in the board's place where files have none
  const body = h("tbody");
  const more = h("button", { type: "button", class: "quiet" }, "Show more");
  let next;
  const line = (one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("a", { href: href(benchmark, "submission", one.submission) }, when(one.received_at))),
      h("td", {}, kinds.includes(one.leaderboard) ? one.leaderboard : h("a", { href: href(benchmark, "board", one.leaderboard, one.round) }, one.leaderboard)),
      h("td", {}, pill(one.status), one.withdrawn_at ? h("span", { class: "tag" }, "withdrawn") : null),
      h("td", { class: "n" }, score(one.score)),
    );
  const add = (page) => {
    body.append(...page.submissions.map(line));
    next = page.next;
    more.hidden = !next;
  };
  add(await ask(parts, query));
  more.addEventListener("click", async () => add(await ask(parts, { ...query, cursor: next })));
  const heads = ["Received", "Board", "Status", "Score"].map((label) => h("th", { scope: "col" }, label));
  const hint = token.get() ? "" : " Those without a score show when you sign in with this submitter's token.";
  return {
    title: name,
    benchmark,
    nodes: [
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Benchmarks"), " / ", titled(benchmark)),
      h("h1", {}, name),
      h("p", { class: "lead" }, `Submissions to ${titled(benchmark)}, newest first.${hint}`),
      h(
        "section",
        { class: "panel wide-panel", "aria-label": "History" },
        body.childElementCount > 0 ? h("table", { class: "history" }, h("caption", { class: "unseen" }, "History"), h("thead", {}, h("tr", {}, heads)), body) : h("p", { class: "empty" }, "Nothing here that you may see."),
        more,
      ),
    ],
  };
}
