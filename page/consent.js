// What may hurt is shown only to who has agreed to see it, in this window, and may be left at any time.

import { h } from "./dom.js";

const KEPT = "dataperf-consent";

const agreed = (what) => sessionStorage.getItem(`${KEPT}-${what}`) === "yes";

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
    place.replaceChildren(h("p", {}, warning), h("p", {}, "You may stop at any time, and nothing is lost by it. Talk to somebody if it troubles you; the organizer's guides name help."), yes);
  };
  const showing = () => {
    const leave = h("button", { type: "button", class: "quiet" }, "Stop and hide it");
    leave.addEventListener("click", () => {
      sessionStorage.removeItem(`${KEPT}-${what}`);
      asking();
    });
    place.replaceChildren(make(), h("p", {}, leave));
  };
  if (agreed(what)) showing();
  else asking();
  return place;
}
