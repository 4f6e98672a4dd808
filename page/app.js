// Which view an address shows.

import { ask, token } from "./api.js";
import { h, href, say, take, titled } from "./dom.js";
import { home } from "./home.js";
import { prepare, takeFromAddress } from "./token.js";

const main = document.getElementById("main");
let shownFor = 0;

/** What a board is shown by, fetched side by side: the list of all needs none of it. */
const ofBoard = async () => (await Promise.all(["./board.js", "./announcements.js", "./brackets.js", "./charts.js", "./drop.js", "./markdown.js"].map((part) => import(part))))[0];

/** A view. Those that few begin with are fetched when they are asked for; `all` are the benchmarks, on their way. */
async function view(all) {
  const words = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const [of, what, first, second, third] = words;
  if (!of) return home(await all);
  if (of === "mine") return (await import("./submitter.js")).mine(await all);
  if (of === "organize") return (await import("./organizer.js")).organize(await all);
  if (of === "across") return (await import("./across.js")).across();
  if (of === "audit") return (await import("./audit.js")).audit();
  if (of === "models") return (await import("./models.js")).models();
  if (of === "boards") return (await import("./boards.js")).boards(await all, words.slice(1));
  if (!what) return (await import("./boards.js")).benchmark(await all, of);
  if (what === "board" && first) return (await ofBoard()).board(of, first, second ?? "open", third);
  if (what === "submission" && first) return (await import("./submission.js")).submission(of, first);
  if (what === "submitter" && first) return (await import("./submitter.js")).submitter(of, first);
  if (what === "compare" && first && second) return (await import("./compare.js")).compare(of, [first, second]);
  throw new Error("This page does not exist. Start at the list of benchmarks.");
}

function failed(reason) {
  if (!reason.title) console.error(reason);
  // a token that is valid no longer keeps what everybody may read from being shown
  const out = reason.status === 401 && token.get() ? h("p", {}, h("button", { type: "button", onclick: () => document.getElementById("token-forget").click() }, "Sign out")) : null;
  return { title: "Not shown", nodes: [h("h1", {}, "Not shown"), h("p", { class: "problem" }, reason.message), out, h("p", {}, h("a", { href: "#/" }, "All benchmarks"))] };
}

/** The benchmarks, as ways around, behind one name so that they fit every screen. */
function navigation(benchmarks, current) {
  const links = benchmarks
    .filter((benchmark) => benchmark.leaderboards.length > 0)
    .map((benchmark) => {
      const [first] = benchmark.leaderboards;
      const to = benchmark.leaderboards.length > 1 ? href(benchmark.id) : href(benchmark.id, "board", first.name, first.round);
      return h("li", {}, h("a", { href: to, "aria-current": benchmark.id === current ? "true" : null }, titled(benchmark.id)));
    });
  document.getElementById("benchmarks").replaceChildren(...links);
  document.getElementById("menu").open = false;
}

async function show() {
  const turn = ++shownFor;
  const endBefore = take();
  main.setAttribute("aria-busy", "true");
  let benchmarks = [];
  let made;
  const isList = /^#?\/?$/.test(location.hash); // which says who leads each board
  const all = ask(["benchmarks"], { include: isList ? "leaders" : null }).then((answer) => answer.benchmarks);
  try {
    [benchmarks, made] = await Promise.all([all, view(all)]);
  } catch (reason) {
    made = failed(reason);
    benchmarks = await all.catch(() => []);
  }
  endBefore();
  if (turn !== shownFor) return; // somebody has gone elsewhere meanwhile
  navigation(benchmarks, made.benchmark);
  main.replaceChildren(...made.nodes.flat(Infinity).filter(Boolean));
  main.removeAttribute("aria-busy");
  document.title = made.title === "Leaderboards" ? "DataPerf leaderboards" : `${made.title} · DataPerf`;
  say(`${made.title}.`);
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is a view's
  main.focus();
});
document.addEventListener("keydown", (event) => {
  const menu = document.getElementById("menu");
  if (event.key !== "Escape" || !menu.open) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
document.addEventListener("click", (event) => {
  const menu = document.getElementById("menu");
  if (!menu.contains(event.target)) menu.open = false;
});
window.addEventListener("hashchange", async () => {
  takeFromAddress();
  await show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
takeFromAddress();
prepare(show);
show();
