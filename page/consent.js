// What may hurt is shown only to who has agreed to see it, in this window, and may be left at any time.

import { h } from "./dom.js";

const KEPT = "dataperf-consent";
const TOOLKIT = "https://ovc.ojp.gov/program/vtt/compendium-resources";
const IMAGERY = "https://dartcenter.org/resources/handling-traumatic-imagery-developing-standard-operating-procedure";

/** Who helps, as the guides name it. */
const help = () => h("p", {}, "Help: ", h("a", { href: IMAGERY, rel: "noreferrer" }, "Handling Traumatic Imagery"), " has practical tips, and ", h("a", { href: TOOLKIT, rel: "noreferrer" }, "The Vicarious Trauma Toolkit"), " has over 500 resources.");

const agreed = (what) => sessionStorage.getItem(`${KEPT}-${what}`) === "yes";

/** A box, required in its form, in which somebody accepts the terms of a round, which the tab at `rules` shows; null where the round has none. */
export const acceptance = (id, round, rules) => (round?.terms ? h("p", {}, h("input", { type: "checkbox", id, required: true }), " ", h("label", { for: id }, "I accept the ", h("a", { href: rules }, "terms of the round"), ".")) : null);

/** A place that first asks, and shows what `make` gives once somebody has agreed to see `what`. Leaving takes it away and asks again. */
export function afterConsent(what, warning, make) {
  const place = h("div", { class: "consented" });
  const asking = () => {
    const yes = h("button", { type: "button" }, "I agree to see it");
    yes.addEventListener("click", () => {
      sessionStorage.setItem(`${KEPT}-${what}`, "yes");
      showing();
      place.querySelector("h3, button, textarea, input")?.focus();
    });
    place.replaceChildren(h("p", {}, warning), h("p", {}, "You may stop at any time without losing anything. Work in short pieces, take breaks, and talk to somebody or to your organizer if it troubles you."), help(), yes);
  };
  const showing = () => {
    const leave = h("button", { type: "button", class: "quiet" }, "Stop and hide it");
    leave.addEventListener("click", () => {
      sessionStorage.removeItem(`${KEPT}-${what}`);
      asking();
    });
    place.replaceChildren(make(), h("p", {}, leave), help());
  };
  if (agreed(what)) showing();
  else asking();
  return place;
}
