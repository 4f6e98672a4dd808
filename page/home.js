// All benchmarks and their boards.

import { whoami } from "./api.js";
import { boardName, capital, counts, h, href, prose, score, titled } from "./dom.js";

function card(benchmark, board) {
  const { leader, n_submitters: n, n_baselines: nBaselines, has_more: more, hidden_until: hidden } = board.leaders;
  const nRows = n + nBaselines;
  const round = board.round === "open" ? null : h("span", { class: "round" }, board.round);
  return h(
    "li",
    {},
    h(
      "a",
      { class: "card", href: href(benchmark.id, "board", board.name, board.round) },
      h("span", { class: "name" }, boardName(board), round),
      h("span", { class: "about" }, prose(board.about || "a board of an earlier data set")),
      leader
        ? h("span", { class: "leader" }, h("b", {}, score(leader.score, board.digits)), h("span", { class: "who" }, leader.submitter))
        : h("span", { class: "leader none" }, hidden ? "hidden until the round closes" : nRows > 0 ? "scored with an earlier data set" : "no score yet"),
      nRows > 0 ? h("span", { class: "count" }, counts(n, nBaselines, more)) : null,
    ),
  );
}

export async function home(benchmarks) {
  const sections = benchmarks.map((benchmark) => {
    const cards = benchmark.leaderboards.map((board) => card(benchmark, board));
    return h(
      "section",
      { "aria-labelledby": `of-${benchmark.id}` },
      h("h2", { id: `of-${benchmark.id}` }, cards.length > 0 ? h("a", { href: href(benchmark.id) }, titled(benchmark.id)) : titled(benchmark.id)),
      h("p", { class: "lead" }, `${capital(benchmark.about)}.`, benchmark.has_frozen_model ? " The model is frozen." : null),
      cards.length > 0 ? h("ul", { class: "cards" }, cards) : h("p", { class: "empty" }, "No data set is published yet, so there is no board."),
    );
  });
  const waiting = (await whoami())?.role === "organizer" ? await (await import("./organizer.js")).forOrganizer(benchmarks) : null;
  return {
    title: "Leaderboards",
    nodes: [h("h1", {}, "Benchmarks of data"), h("p", { class: "lead wide" }, "People compete on data: on training sets of frozen models, on examples that models get wrong, and on models of such examples. ", h("a", { href: href("boards") }, "Boards side by side")), waiting, sections],
  };
}
