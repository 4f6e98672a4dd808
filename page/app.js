// Which view an address shows.

import { ask } from "./api.js";
import { board } from "./board.js";
import { take } from "./charts.js";
import { h, href, say, titled } from "./dom.js";
import { home } from "./home.js";
import { submission } from "./submission.js";
import { submitter } from "./submitter.js";
import { prepare, takeFromAddress } from "./token.js";

const main = document.getElementById("main");
let shownFor = 0;

function view(benchmarks) {
  const [benchmark, what, first, second] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (!benchmark) return home(benchmarks);
  if (what === "board" && first) return board(benchmark, first, second ?? "open");
  if (what === "submission" && first) return submission(benchmark, first);
  if (what === "submitter" && first) return submitter(benchmark, first);
  throw new Error("This address leads nowhere. Begin at the list of benchmarks.");
}

function failed(reason) {
  if (!reason.title) console.error(reason);
  return { title: "Not shown", nodes: [h("h1", {}, "Not shown"), h("p", { class: "problem" }, reason.message), h("p", {}, h("a", { href: "#/" }, "All benchmarks"))] };
}

/** The benchmarks' first boards, as ways around. */
function navigation(benchmarks, current) {
  const links = benchmarks
    .filter((benchmark) => benchmark.leaderboards.length > 0)
    .map((benchmark) => {
      const [first] = benchmark.leaderboards;
      return h("a", { href: href(benchmark.id, "board", first.name, first.round), "aria-current": benchmark.id === current ? "true" : null }, titled(benchmark.id));
    });
  document.getElementById("benchmarks").replaceChildren(...links);
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
window.addEventListener("hashchange", async () => {
  takeFromAddress();
  await show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
takeFromAddress();
prepare(show);
show();
