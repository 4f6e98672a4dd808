// What `dataperf dynamic models` or `board` says of programs, with weights to move. The file is read in the browser and goes nowhere.

import { capital, command, crumbs, h, href, plain, ranks, say, some, wide, words } from "./dom.js";
import { takesDrops } from "./drop.js";

const AXES = ["performance", "compute", "memory", "robustness", "fairness"]; // the order of points
const [LEAST, MOST, STEP] = [0, 3, 0.25]; // how often a figure can count

/** Models with the sum of their points under weights, the most first; those with the same sum share a place. */
export function weighted(models, weights) {
  const sum = ({ points }) => points.reduce((total, value, idx) => total + weights[idx] * value, 0);
  const sums = models.map((model) => ({ ...model, sum: sum(model) })).sort((a, b) => b.sum - a.sum);
  return sums.map((model) => ({ ...model, place: 1 + sums.filter((other) => other.sum > model.sum).length }));
}

function moved({ rank, place }) {
  if (rank === place) return "";
  return `${place < rank ? "up" : "down"} ${plain(Math.abs(rank - place))}`;
}

/** Everything that is wrong with a document, as a sentence; null where it is a comparison of models. */
function wrong(document) {
  const areNumbers = (values) => Array.isArray(values) && values.length === AXES.length && values.every(Number.isFinite);
  const isModel = (of) => typeof of?.name === "string" && Number.isInteger(of.rank) && areNumbers(of.points) && Number.isFinite(of.leads_under);
  return areNumbers(document?.weights) && Array.isArray(document.models) && document.models.length > 0 && document.models.every(isModel) ? null : "This file is not a comparison of models: choose the output of `dataperf dynamic models … --format json` or `dataperf dynamic board … --format json`.";
}

/** A slider for each figure, and the order that follows. */
function weighing({ models, weights: given, why_no_intervals: why }) {
  const weights = [...given];
  const body = h("tbody");
  const draw = () => {
    // intervals are of the order under the file's weights, and of no other
    const areGiven = weights.every((weight, idx) => weight === given[idx]);
    const line = (of) =>
      h(
        "tr",
        { "data-name": of.name },
        h("td", { class: "n rank" }, plain(of.place), areGiven && of.ranks ? h("span", { class: "ranks" }, ranks(of.ranks)) : null),
        h("th", { scope: "row" }, of.name, of.is_on_front ? h("span", { class: "tag" }, "front") : null),
        h("td", { class: "n" }, of.sum.toFixed(2)),
        h("td", {}, moved(of)),
        of.points.map((value) => h("td", { class: "n" }, value.toFixed(2))),
        h("td", { class: "n" }, `${(100 * of.leads_under).toFixed(0)} %`),
        h("td", { class: "n" }, Number.isFinite(of.dynascore_2021) ? of.dynascore_2021.toFixed(2) : "–"),
      );
    body.replaceChildren(...weighted(models, weights).map(line));
  };
  const sliders = AXES.map((axis, idx) => {
    const id = `weight-${axis}`;
    const value = h("output", { for: id });
    const input = h("input", { type: "range", id, min: LEAST, max: Math.max(MOST, given[idx]), step: STEP });
    const set = (to) => {
      [weights[idx], input.value, value.textContent] = [to, String(to), `× ${to}`];
    };
    input.addEventListener("input", () => {
      set(Number(input.value));
      draw();
    });
    set(given[idx]);
    return { set, node: h("div", { class: "weight" }, h("label", { for: id }, capital(words(axis))), input, value) };
  });
  const back = h("button", { type: "button", class: "quiet" }, "Weights of the file");
  back.addEventListener("click", () => {
    sliders.forEach(({ set }, idx) => set(given[idx]));
    draw();
    say("Restored the weights from the file.");
  });
  draw();
  const head = ["Rank", "Model", "Points", "Moved", ...AXES.map(capital), "Leads under", "Dynascore 2021"];
  return h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "order" },
    h("h2", { id: "order" }, "Order under these weights"),
    h("div", { class: "weights" }, sliders.map(({ node }) => node), back),
    wide("Order of models", h("table", { class: "numbers" }, h("caption", { class: "unseen" }, "Order of models"), h("thead", {}, h("tr", {}, head.map((name, idx) => h("th", { scope: "col", class: [0, 2].includes(idx) || idx > 3 ? "n" : null }, name)))), body)),
    h("p", { class: "note" }, why ? `Ranks have no intervals: ${why}. ` : "Below each rank are the ranks that the model could have on texts of other annotators, with 95 % confidence for each model, not for all at once. They apply to the weights in the file. ", "The data set's fixed rates turn each figure into points. The front has the models that no other model beats in every figure. “Leads under” is the share of all weights under which a model leads; it does not depend on the weights above. Dynascore 2021 follows Dynabench, and depends on the other models of the board."),
  );
}

/** The view: a file is chosen, and its models are put in order below. */
export function models() {
  const input = h("input", { type: "file", id: "models", accept: ".json,application/json" });
  const shown = h("div", { "aria-live": "polite" });
  const take = async (file) => {
    let document = null;
    try {
      document = JSON.parse(await file.text());
    } catch {
      // said below
    }
    const why = wrong(document);
    if (why) return void shown.replaceChildren(h("p", { class: "problem", role: "alert" }, why));
    shown.replaceChildren(weighing(document));
    return say(`${some(document.models.length, "model")}.`);
  };
  input.addEventListener("change", () => input.files[0] && take(input.files[0]));
  const panel = h(
    "section",
    { class: "panel wide-panel", "aria-labelledby": "choose" },
    h("h2", { id: "choose" }, "The comparison's file"),
    command("dataperf dynamic models --round round-1/ --program mine.wasm --format json > models.json", "the command that compares models"),
    h("p", {}, h("label", { for: "models" }, "Choose the file or drop it here."), " For a hosted board, the organizer gets the file from ", h("code", {}, "dataperf dynamic board"), ". The file stays in your browser."),
    h("div", { class: "drop" }, input),
  );
  takesDrops(panel, take);
  return {
    title: "Weights of models",
    nodes: [crumbs(["Benchmarks", "#/"], ["Weights of models"]), h("h1", {}, "Weights of models"), h("p", { class: "lead" }, "Rank programs with other weights for accuracy, compute, memory, robustness and fairness. ", h("a", { href: href() }, "All benchmarks")), panel, shown],
  };
}
