// A small part of Markdown, for what a data set says of a board: headings, paragraphs, lists, tables, quotes, code, emphasis and links
// to pages on the web. It makes elements and text, never markup: HTML, images and scripts in it are shown as the text they are.

import { h } from "./dom.js";

// No class crosses the character that begins it, so that matching takes linear time on any text.
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^[\]]+)\]\(([^()\s]+)\)/;

/** Only these lead anywhere. */
function webAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

/** The text of one block, with what stands out in it. */
function inline(text) {
  const nodes = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    const [whole, code, strong, slanted, label, to] = found;
    nodes.push(rest.slice(0, found.index));
    if (code) nodes.push(h("code", {}, code));
    else if (strong) nodes.push(h("strong", {}, inline(strong)));
    else if (slanted) nodes.push(h("em", {}, inline(slanted)));
    else nodes.push(webAddress(to) ? h("a", { href: webAddress(to), rel: "noopener noreferrer nofollow" }, label) : whole);
    rest = rest.slice(found.index + whole.length);
  }
  return [...nodes, rest];
}

const BULLET = /^\s{0,3}[-*+]\s+/;
const NUMBER = /^\s{0,3}\d{1,9}[.)]\s+/;
const QUOTE = /^\s{0,3}>\s?/;
const FENCE = /^\s{0,3}```/;
const ROW = /^\s{0,3}\|/;
const DASHES = /^\s{0,3}\|[\s|:-]+$/;
const HEADING = /^\s{0,3}(#{1,6})\s(.*)$/;

/** The text of a heading, without the `#` that may close it. */
function headingText(text) {
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  return text.slice(0, end).trim();
}

/** The lines from `at` on that `mark` begins, without it; a line that begins no other block goes on with the one before. */
function marked(lines, at, mark) {
  const items = [];
  let idx = at;
  for (; idx < lines.length && lines[idx].trim(); idx += 1) {
    if (mark.test(lines[idx])) items.push(lines[idx].replace(mark, ""));
    else if (startsBlock(lines[idx])) break;
    else items.push(`${items.pop()} ${lines[idx].trim()}`);
  }
  return [items, idx];
}

const startsBlock = (line) => [BULLET, NUMBER, QUOTE, FENCE, HEADING].some((mark) => mark.test(line));

function list(tag, mark, lines, at) {
  const [items, next] = marked(lines, at, mark);
  return [h(tag, {}, items.map((item) => h("li", {}, inline(item)))), next];
}

function fenced(lines, at) {
  const end = lines.findIndex((line, idx) => idx > at && FENCE.test(line));
  const last = end < 0 ? lines.length : end;
  return [h("pre", {}, h("code", {}, lines.slice(at + 1, last).join("\n"))), last + 1];
}

const cells = (line) => line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|").map((cell) => inline(cell.trim()));

/** The lines from `at` on that are rows: the names of the columns, a line of dashes, and the others. */
function table(lines, at) {
  let end = at;
  while (end < lines.length && ROW.test(lines[end])) end += 1;
  const [head, , ...rows] = lines.slice(at, end).map(cells);
  const heading = (nodes) => (nodes.join("") ? h("th", { scope: "col" }, nodes) : h("td")); // a heading has a text
  const row = (nodes) => h("tr", {}, nodes.map((node) => h("td", {}, node)));
  const label = h("span", {}, head.map((nodes) => [nodes, " "])).textContent.trim();
  return [h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${label}` }, h("table", {}, h("thead", {}, h("tr", {}, head.map(heading))), h("tbody", {}, rows.map(row)))), end];
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines[end])) end += 1;
  return [h("p", {}, inline(lines.slice(at, end).map((line) => line.trim()).join(" "))), end];
}

function block(lines, at, below) {
  const line = lines[at];
  if (FENCE.test(line)) return fenced(lines, at);
  const heading = HEADING.exec(line);
  if (heading) return [h(`h${Math.min(heading[1].length + below, 6)}`, {}, inline(headingText(heading[2]))), at + 1];
  if (BULLET.test(line)) return list("ul", BULLET, lines, at);
  if (NUMBER.test(line)) return list("ol", NUMBER, lines, at);
  if (ROW.test(line) && DASHES.test(lines[at + 1] ?? "")) return table(lines, at);
  if (QUOTE.test(line)) {
    const [items, next] = marked(lines, at, QUOTE);
    return [h("blockquote", {}, h("p", {}, inline(items.join(" ")))), next];
  }
  return paragraph(lines, at);
}

/** The elements of a text, whose headings are `below` levels lower. */
export function markdown(text, below = 2) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const nodes = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [node, next] = block(lines, at, below);
    nodes.push(node);
    at = next;
  }
  return nodes;
}
