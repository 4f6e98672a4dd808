// Writing for a benchmark of people: an example for which a round's models are asked at once, with what each of them answers, or a prompt of which
// images are made, with what is unsafe about one of them.

import { ask } from "./api.js";
import { afterConsent } from "./consent.js";
import { capital, h, href, plain, prose, say, some } from "./dom.js";
import { sendLine } from "./send.js";
import { pictures } from "./submission.js";

const SHARE = 20; // contexts asked for at once
const SOON = "The answer takes about a second on a local cloud, and some seconds on AWS.";
const AROUND = 30; // characters before and after an answer that are shown with its place

/** Where in a text Unicode characters are counted, and not a string's units. */
const charactersBefore = (text, offset) => [...text.slice(0, offset)].length;

/** What is marked in the element that shows a context: `{ at, text }`, `at` in a string's units; null where nothing of it is marked. */
function marked(node) {
  const selection = getSelection();
  if (selection.rangeCount === 0 || selection.isCollapsed || !node.contains(selection.anchorNode) || !node.contains(selection.focusNode)) return null;
  const range = selection.getRangeAt(0);
  const before = range.cloneRange();
  before.selectNodeContents(node);
  before.setEnd(range.startContainer, range.startOffset);
  const [from, found] = [before.toString().length, range.toString()];
  return found.trim() === "" ? null : { at: from, text: found };
}

/** All places at which an answer stands in a text, in a string's units. */
function occurrences(text, answer) {
  const found = [];
  for (let at = answer === "" ? -1 : text.indexOf(answer); at >= 0; at = text.indexOf(answer, at + 1)) found.push(at);
  return found;
}

/** One place of an answer, with some words around it. */
function around(text, at, answer) {
  const [before, after] = [[...text.slice(0, at)], [...text.slice(at + answer.length)]];
  const first = before.length > AROUND ? `… ${before.slice(-AROUND).join("").replace(/^\S*\s+/, "")}` : before.join("");
  const last = after.length > AROUND ? `${after.slice(0, AROUND).join("").replace(/\s+\S*$/, "")} …` : after.join("");
  return `${first}“${answer}”${last}`;
}

/**
 * A field for an answer that is part of the text in `shown`: it is marked there or typed, and where the text has it several times, its place is
 * chosen. `read` gives `{ start, text }`, or a text that says what is missing; `changed` is called with each change.
 */
export function answering(shown, label, changed = () => {}) {
  const input = h("input", { id: "answer", autocomplete: "off" });
  const select = h("select", { id: "place" });
  const question = h("label", { for: "place" });
  const choosing = h("p", { hidden: true }, question, select);
  let answer = ""; // with its line breaks, which a field has not
  let places = [];
  const offer = (wanted, chosen) => {
    const text = shown.textContent;
    answer = wanted;
    places = occurrences(text, answer);
    choosing.hidden = places.length < 2;
    question.textContent = `It appears ${places.length} times. Which one is the answer?`;
    const option = (at, idx) => h("option", { value: at, selected: at === chosen }, `${idx + 1}: ${around(text, at, answer)}`);
    select.replaceChildren(...(choosing.hidden ? [] : [h("option", { value: "" }, "Choose the place"), ...places.map(option)]));
  };
  shown.addEventListener("mouseup", () => {
    const part = marked(shown);
    if (!part) return;
    input.value = part.text;
    offer(part.text, part.at);
    changed();
  });
  input.addEventListener("input", () => {
    offer(input.value);
    changed();
  });
  input.addEventListener("change", () => choosing.hidden || say(question.textContent));
  select.addEventListener("change", changed);
  const read = () => {
    if (places.length === 0) return "The context does not contain this answer. Mark it in the context, or type it exactly.";
    const at = places.length === 1 ? places[0] : select.value;
    return at === "" ? `The context has this answer ${places.length} times. Choose one.` : { start: charactersBefore(shown.textContent, Number(at)), text: answer };
  };
  const clear = () => {
    input.value = "";
    offer("");
  };
  return { nodes: [h("p", {}, h("label", { for: "answer" }, label), input), choosing], read, clear };
}

/** One of several labels, as radio buttons. */
export function choice(name, legend, labels, prefix = "") {
  const option = (label) => h("label", {}, h("input", { type: "radio", name, value: label, required: true }), ` ${prefix}${label.replaceAll("-", " ")}`);
  return h("fieldset", {}, h("legend", {}, legend), labels.map(option));
}

/** What the first field that lacks something in a form wants, which gets the focus; null where nothing is missing. */
export function missing(form) {
  const field = form.querySelector("input:invalid, textarea:invalid");
  if (!field) return null;
  field.focus();
  const name = field.closest("fieldset")?.querySelector("legend") ?? field.labels[0];
  return `${{ checkbox: "Check the box", radio: "Choose one" }[field.type] ?? "Fill in"}: ${name.textContent}`;
}

/** A word of a vocabulary with what it means. */
function meaning({ id, about }) {
  const name = id.replaceAll("-", " ");
  return about.startsWith(name) ? about : `${name}: ${about}`;
}

/** Several words of a vocabulary, as boxes to tick; `said` are the submitter's, to be confirmed or not. */
export function words(name, legend, terms, said = []) {
  const box = (term) => h("label", {}, h("input", { type: "checkbox", name, value: term.id }), ` ${meaning(term)}`, said.includes(term.id) ? h("span", { class: "tag" }, "said") : null);
  return h("fieldset", {}, h("legend", {}, legend), terms.map(box));
}

/** An answer as words: a label, a part of the context, or that there is none. */
export const answered = (of) => (of.label !== undefined ? of.label.replaceAll("-", " ") : of.answer ? `“${of.answer.text}”` : "no answer");

/** What a model answered, and how sure it was. */
function model(name, of) {
  const sure = Object.entries(of.probabilities ?? {}).sort(([, a], [, b]) => b - a);
  const bar = ([label, share]) => h("div", {}, h("dt", {}, label.replaceAll("-", " ")), h("dd", {}, h("meter", { min: 0, max: 1, value: share, "aria-label": `${name}: ${label}` }), h("span", { class: "n" }, `${(100 * share).toFixed(0)} %`)));
  return h("li", {}, h("p", {}, h("b", {}, name), ` says ${answered(of)}. `, h("span", { class: `pill ${of.fooled ? "scored" : ""}` }, of.fooled ? "fooled" : "not fooled")), sure.length > 0 ? h("dl", { class: "bars" }, sure.map(bar)) : null);
}

/** What each model answered; null where none was asked. */
export function answers(line) {
  if (line.models_left_out) return h("p", { class: "note" }, "The receipt has no room for the models' answers. The line counts anyway; upload fewer lines to see all answers.");
  return line.models ? h("ul", { class: "models" }, Object.entries(line.models).map(([name, of]) => model(name, of))) : null;
}

/** Every reason why a line was not taken; null where it was. */
export function refusals({ status, reasons }) {
  if (status === "accepted") return null;
  const one = (reason) => h("li", {}, prose(reason.message), " ", h("code", {}, reason.code));
  return [h("p", { class: "problem", role: "alert" }, "Rejected:"), reasons?.length > 0 ? h("ul", {}, reasons.map(one)) : h("p", {}, "The platform failed, so this does not count. Send it again later.")];
}

/** What became of a line: the models' answers, or every reason why not. */
export function outcome(line) {
  const refused = refusals(line);
  if (refused) return refused;
  const fooled = line.fooled ? "You fooled the round's models. Your example counts once raters agree with you." : "You did not fool the models. The example counts only as a try.";
  const twice = line.duplicate ? h("p", { class: "note" }, `It repeats an earlier example (${line.duplicate.how}), so it does not count.`) : null;
  return [h("p", {}, h("b", {}, fooled)), twice, answers(line)];
}

function form(benchmark, task, round, rules, who, terms) {
  const of = rules.tasks[task];
  const isSpan = of.labels.length === 0;
  const shown = h("div", { class: "context", id: "context" });
  const text = h("textarea", { id: "text", rows: 3, required: true, maxlength: rules.max_chars });
  const answer = isSpan ? answering(shown, "The answer: mark it in the context, or type it exactly") : null;
  const why = h("input", { id: "why", maxlength: 500, autocomplete: "off" });
  const labels = isSpan ? null : choice("label", of.needs_context ? "The right answer, for this context" : "The right answer", of.labels);
  const button = h("button", { type: "submit" }, "Ask the models");
  const found = h("div", { class: "found", "aria-live": "polite" });
  let contexts = [];
  let n = 0; // of all contexts
  let at = 0;
  let context = null;
  const draw = () => {
    context = contexts[at % Math.max(contexts.length, 1)] ?? null;
    shown.textContent = context ? context.text : "";
    answer?.clear();
  };
  const load = async (from) => {
    const page = await ask(["benchmarks", benchmark, "contexts"], { task, round, from, limit: SHARE });
    [contexts, n, at] = [page.contexts, page.n_contexts, 0];
    draw();
  };
  const other = h("button", { type: "button", class: "quiet" }, "Another context");
  other.addEventListener("click", () => {
    at += 1;
    if (at < contexts.length) draw();
    else load(n > SHARE ? Math.floor(Math.random() * (n - SHARE + 1)) : 0).catch((problem) => found.replaceChildren(h("p", { class: "problem", role: "alert" }, problem.message)));
  });
  const node = h(
    "form",
    { class: "write", novalidate: true },
    terms,
    of.needs_context ? [h("h3", { tabindex: "-1" }, "Context"), shown, h("p", {}, other)] : null,
    h("p", {}, h("label", { for: "text" }, isSpan ? "A question about the context" : of.needs_context ? "A text for this context" : "A text"), text),
    labels,
    answer?.nodes,
    h("p", {}, h("label", { for: "why" }, "Why it is right, and why a model may err (optional)"), why),
    h("p", {}, button),
    found,
  );
  const line = () => {
    const said = { task, text: text.value, ...(of.needs_context ? { context_id: context.id } : {}), ...(why.value.trim() ? { why: why.value.trim() } : {}) };
    return isSpan ? { ...said, answer: answer.read() } : { ...said, label: node.querySelector("[name=label]:checked").value };
  };
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    const lacks = missing(node);
    const said = lacks ? {} : line();
    const wrong = lacks ?? said.answer;
    if (typeof wrong === "string") return void found.replaceChildren(h("p", { class: "problem", role: "alert" }, wrong));
    button.disabled = true;
    found.replaceChildren(h("p", {}, "Asking the models …"));
    try {
      const ended = await sendLine(benchmark, "submit", who, said, () => node.isConnected);
      if (!ended) return;
      found.replaceChildren(...outcome(ended).flat().filter(Boolean));
      say(ended.fooled ? "Fooled." : "Answered.");
    } catch (problem) {
      found.replaceChildren(h("p", { class: "problem", role: "alert" }, prose(problem.message)));
    } finally {
      button.disabled = false;
    }
  });
  if (of.needs_context) load(0).catch((problem) => found.replaceChildren(h("p", { class: "problem", role: "alert" }, problem.message)));
  return node;
}

/** What is shown to who has no submitter's token. */
const signingIn = () => [h("p", {}, "Sign in with the token that the organizer gave you."), h("button", { type: "button", onclick: () => document.getElementById("who").click() }, "Sign in to write")];

/** The panel in which somebody writes for a task, which is `called` so; null where nothing is written for models. */
export async function writing(benchmark, task, called, round, who, terms) {
  const page = await ask(["benchmarks", benchmark, "contexts"], { task, round, limit: 1 }).catch(() => null);
  const of = page?.rules.tasks?.[task];
  if (!of) return null;
  const panel = (...nodes) => h("section", { class: "panel wide-panel", "aria-labelledby": "write" }, h("h2", { id: "write" }, "Write an example"), h("p", {}, `Write a text that people get right and the models get wrong. ${capital(of.targets.join(", "))} ${of.targets.length === 1 ? "answers" : "answer"} at once.`), nodes);
  if (who?.role !== "submitter") return panel(signingIn());
  const make = () => form(benchmark, task, round, page.rules, who, terms);
  const limit = h("p", { class: "note" }, `Up to ${plain(page.rules.examples_a_day)} examples a day (UTC). ${SOON}`);
  return panel(of.is_harmful ? afterConsent(`${benchmark}-${task}`, `Texts of ${called} may be hateful or hurtful.`, make) : make(), limit);
}

/** Sends what `read` gives each time the form is submitted, unless that is a text that says what is missing. `taken` gives what is shown of the outcome of a line that is no refusal. */
function sending(form, benchmark, kind, who, { label, read, wait, taken }) {
  const button = h("button", { type: "submit" }, label);
  const found = h("div", { class: "found", "aria-live": "polite" });
  const wrong = (text) => found.replaceChildren(h("p", { class: "problem", role: "alert" }, prose(text)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const line = missing(form) ?? read();
    if (typeof line === "string") return void wrong(line);
    button.disabled = true;
    found.replaceChildren(h("p", {}, wait));
    try {
      const ended = await sendLine(benchmark, kind, who, line, () => form.isConnected);
      if (ended) found.replaceChildren(...(refusals(ended) ?? taken(ended, line)).flat().filter(Boolean));
    } catch (problem) {
      wrong(problem.message);
    } finally {
      button.disabled = false;
    }
  });
  form.noValidate = true; // the page says what is missing
  form.append(h("p", {}, button), found);
}

/** What is said when a pair has been taken. */
function paired(benchmark, { upload, duplicate }) {
  const twice = duplicate ? h("p", { class: "note" }, `The prompt repeats an earlier one (${duplicate.how}).`) : null;
  return [h("p", {}, h("b", {}, "Accepted. Trained raters judge the pair next."), " ", h("a", { href: href(benchmark, "submission", upload) }, "View submission and receipt")), twice];
}

/** The images that were made for a prompt, and the form in which one of them is submitted with what is unsafe about it. */
function pairing(benchmark, who, vocabulary, { upload, prompt, images, n_blocked: n, stored_before: isStored }) {
  const radio = ({ id }, idx) => h("label", {}, h("input", { type: "radio", name: "image", value: id, required: true }), ` image ${idx + 1}`);
  const rewrite = h("textarea", { id: "rewrite", rows: 2, required: true });
  const naming = (name, legend) => words(name, legend, vocabulary[name]);
  const [attacks, harms, groups] = [naming("attacks", "How the prompt gets around filters, at least one"), naming("harms", "What is unsafe about the image, at least one"), naming("identity_groups", "Which groups it targets, at least one, or none")];
  const form = h(
    "form",
    { class: "write", "aria-label": "The pair" },
    h("fieldset", {}, h("legend", {}, "Which image is unsafe? (Image 1 is the first one above.)"), images.map(radio)),
    choice("mode", "Did you write the prompt to get around the filters (subversive) or not (benign)?", ["subversive", "benign"]),
    attacks,
    h("p", {}, h("label", { for: "rewrite" }, "The prompt, rewritten to describe the image"), rewrite),
    harms,
    groups,
  );
  const chosen = (name) => form.querySelector(`[name=${name}]:checked`);
  const ticked = (fieldset) => [...fieldset.querySelectorAll(":checked")].map(({ value }) => value);
  const read = () => {
    const line = { prompt, image: chosen("image").value, mode: chosen("mode").value, attacks: ticked(attacks), rewrite: rewrite.value, harms: ticked(harms), identity_groups: ticked(groups) };
    return [line.attacks, line.harms, line.identity_groups].some((named) => named.length === 0) ? "Choose at least one word from each list; if the image targets no identity group, say so." : line;
  };
  const taken = (ended, { image }) => {
    form.querySelector(`[value="${image}"]`).disabled = true; // an image is submitted once
    form.reset();
    say("Taken.");
    return paired(benchmark, ended);
  };
  sending(form, benchmark, "submit", who, { label: "Submit the pair", read, taken, wait: "Sent. Recording the pair …" });
  return [
    h("h3", { tabindex: "-1" }, images.length === 1 ? "One image was made" : `${plain(images.length)} images were made`),
    h("p", { class: "note" }, "For the prompt: ", prompt),
    n > 0 ? h("p", { class: "note" }, `The image services blocked ${some(n, "more image")} of this set.`) : null,
    isStored ? h("p", { class: "note" }, "You got these images before, so they don't count again.") : null,
    pictures(images, ["benchmarks", benchmark, "submissions", upload]),
    h("p", {}, "If an image is unsafe, submit it with the prompt. If none is, write another prompt."),
    form,
  ];
}

/** The form for a prompt, and below it what came of the last one. */
function promptForm(benchmark, who, { vocabulary }, terms) {
  const text = h("textarea", { id: "prompt", rows: 3, required: true });
  const made = h("div", {});
  const form = h("form", { class: "write", "aria-label": "The prompt" }, terms, h("p", {}, h("label", { for: "prompt" }, "A prompt that looks safe"), text));
  const taken = (ended) => {
    made.replaceChildren(...pairing(benchmark, who, vocabulary, ended).flat().filter(Boolean));
    made.querySelector("h3").focus();
    say(`${some(ended.images.length, "image")}. None is loaded yet.`);
    return [h("p", {}, `${some(ended.images.length, "image")} for this prompt, below.`)];
  };
  sending(form, benchmark, "generate", who, { label: "Ask for images", read: () => ({ prompt: text.value }), taken, wait: "Making the images. This may take a minute …" });
  return h("div", {}, form, made);
}

/** The panel in which somebody asks for images and submits one of them with its prompt. */
export async function prompting(benchmark, round, who, terms) {
  const panel = (...nodes) => h("section", { class: "panel wide-panel", "aria-labelledby": "write" }, h("h2", { id: "write" }, "Write a prompt"), h("p", {}, "Write a safe-looking prompt whose image is unsafe. Choose one of its images, and say what is unsafe about it. Trained raters judge the pair."), nodes);
  if (who?.role !== "submitter") return panel(signingIn());
  if (who.is_rater?.includes(benchmark)) return panel(h("p", {}, "Raters can't submit pairs. Judge other people's pairs on the tab “Judge”."));
  const page = await ask(["benchmarks", benchmark, "contexts"], { round, limit: 1 }).catch((problem) => problem);
  if (!page.rules) return panel(h("p", { class: "problem", role: "alert" }, prose(page.message)));
  const limit = h("p", { class: "note" }, "A set of images counts against the day's limit (UTC). “My submissions” shows how many are left. The same prompt in the same round returns the stored images and costs nothing.");
  return panel(afterConsent(`${benchmark}-images`, "Some images may be disturbing.", () => promptForm(benchmark, who, page.rules, terms)), limit);
}
