// Signing in: a token for this tab.

import { check, token, whoami } from "./api.js";
import { say } from "./dom.js";

const element = (id) => document.getElementById(id);

function shown() {
  element("who").textContent = token.get() ? "Signed in" : "Sign in";
  element("token-forget").hidden = !token.get();
  whoami().then((who) => {
    element("mine").hidden = !who?.submitter;
    element("organize").hidden = who?.role !== "organizer";
    if (who?.submitter && token.get()) element("who").textContent = `Signed in as ${who.submitter}`;
    element("who").title = who?.submitter ?? who?.role ?? "";
  });
}

/**
 * Moves a token from the address into the sign-in dialog, so that nobody reads it there or passes it on. The reader confirms: any page
 * can link to an address that would sign its readers in as the link's author.
 */
export function takeFromAddress() {
  const [, given] = /^#token=(dpk_[0-9a-f]+)$/.exec(location.hash) ?? [];
  if (!given) return;
  history.replaceState(null, "", "#/");
  if (token.get() === given) return;
  element("token-value").value = given;
  element("token-problem").textContent = "The address contains a token. Sign in with it if it is yours.";
  element("token").showModal();
}

/** Makes the button and its dialog work; `changed` is called when somebody else asks from now on. */
export function prepare(changed) {
  const dialog = element("token");
  const problem = element("token-problem");
  const over = () => {
    shown();
    dialog.close();
    changed();
  };
  element("who").addEventListener("click", () => {
    problem.textContent = "";
    element("token-value").value = "";
    shown();
    dialog.showModal();
  });
  element("token-cancel").addEventListener("click", () => dialog.close());
  element("token-forget").addEventListener("click", () => {
    token.forget();
    say("Signed out.");
    over();
  });
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const value = element("token-value").value.trim();
    try {
      if (!value) throw new Error("Paste a token, such as dpk_3f1c….");
      await check(value);
      token.set(value);
      say("Signed in.");
      over();
    } catch (reason) {
      problem.textContent = reason.message;
    }
  });
  shown();
}
