// One board for somebody else's page: /embed?benchmark=B&leaderboard=L&round=R&rows=N. It sends no token and leads to the whole board in
// a window of its own.

import { ask, token } from "./api.js";
import { best } from "./boards.js";
import { h, href, some, titled, when } from "./dom.js";

const MOST = 50;

async function board(wanted) {
  const [id, name, round] = [wanted.get("benchmark"), wanted.get("leaderboard"), wanted.get("round") ?? "open"];
  if (!id || !name) throw new Error("The address names no board. Add ?benchmark=B&leaderboard=L, and &round=R for a round of a challenge.");
  const n = Math.min(Math.max(Number.parseInt(wanted.get("rows") ?? "10", 10) || 10, 1), MOST);
  const page = await ask(["benchmarks", id, "leaderboards", name], { round, limit: n });
  const whole = new URL(href(id, "board", name, round), new URL(".", location.href)).href;
  const n_rows = page.rows.filter(({ is_baseline: is }) => !is).length;
  const last = page.rows.map(({ received_at: at }) => at).sort().at(-1);
  document.title = `${titled(id)} ${page.title ?? name}`;
  return [
    h("h1", {}, `${titled(id)} `, h("span", { class: "of" }, page.title ?? name), round === "open" ? null : h("span", { class: "round" }, round)),
    best(page, n),
    h("p", { class: "note" }, page.next ? `The first ${n}. ` : `${some(n_rows, "submitter")}. `, last ? ["Newest: ", when(last), ". "] : null, h("a", { href: whole, target: "_blank", rel: "noopener" }, "The whole board")),
  ];
}

token.mute();
const main = document.getElementById("main");
board(new URLSearchParams(location.search))
  .catch((reason) => [h("h1", {}, "Not shown"), h("p", { class: "problem" }, reason.message)])
  .then((nodes) => {
    main.replaceChildren(...nodes.flat(Infinity).filter(Boolean));
    main.removeAttribute("aria-busy");
  });
