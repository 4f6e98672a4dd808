// What participants were told while a challenge goes on, and that a board is hidden.

import { h, when } from "./dom.js";
import { markdown } from "./markdown.js";

/** The announcements for the participants of a round, newest first; null where there are none. */
export function announcements({ challenge }, round) {
  const told = (challenge?.announcements ?? []).filter(({ rounds }) => rounds.length === 0 || rounds.includes(round?.id));
  if (told.length === 0) return null;
  return h(
    "section",
    { class: "panel wide-panel said", "aria-labelledby": "announcements" },
    h("h2", { id: "announcements" }, "Announcements"),
    told.map(({ date, text }) => h("div", {}, h("p", { class: "note" }, when(date)), markdown(text))),
  );
}

/** That a board's rows are hidden from whoever reads; null where they are not. */
export function hidden({ hidden_until: until }) {
  return until ? h("p", { class: "note" }, "This board is hidden until its round closes, ", when(until), ". Your own submissions are on your page, without their scores.") : null;
}
