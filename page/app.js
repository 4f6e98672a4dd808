// Which view an address shows.

import { ask } from "./api.js";
import { board } from "./board.js";
import { benchmark, boards } from "./boards.js";
import { take } from "./charts.js";
import { compare } from "./compare.js";
import { h, href, say, titled } from "./dom.js";
import { home } from "./home.js";
import { submission } from "./submission.js";
import { mine, submitter } from "./submitter.js";
import { prepare, takeFromAddress } from "./token.js";

const main = document.getElementById("main");
let shownFor = 0;

function view(benchmarks) {
  const words = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const [of, what, first, second, third] = words;
  if (!of) return home(benchmarks);
  if (of === "mine") return mine(benchmarks);
  if (of === "boards") return boards(benchmarks, words.slice(1));
  if (!what) return benchmark(benchmarks, of);
  if (what === "board" && first) return board(of, first, second ?? "open", third);
  if (what === "submission" && first) return submission(of, first);
  if (what === "submitter" && first) return submitter(of, first);
  if (what === "compare" && first && second) return compare(of, [first, second]);
  throw new Error("This address leads nowhere. Begin at the list of benchmarks.");
}

function failed(reason) {
  if (!reason.title) console.error(reason);
  return { title: "Not shown", nodes: [h("h1", {}, "Not shown"), h("p", { class: "problem" }, reason.message), h("p", {}, h("a", { href: "#/" }, "All benchmarks"))] };
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
  try {
    ({ benchmarks } = await ask(["benchmarks"]));
    made = await view(benchmarks);
  } catch (reason) {
    made = failed(reason);
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
