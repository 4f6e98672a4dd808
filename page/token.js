// Signing in: a token for this tab.

import { check, token, whoami } from "./api.js";
import { say } from "./dom.js";

const element = (id) => document.getElementById(id);

function shown() {
  element("who").textContent = token.get() ? "Signed in" : "Sign in";
  element("token-forget").hidden = !token.get();
  whoami().then((who) => {
    element("mine").hidden = !who?.submitter;
    element("who").title = who?.submitter ?? who?.role ?? "";
  });
}

/** A token in the address is taken out of it, so that it is neither seen nor passed on. */
export function takeFromAddress() {
  const [, given] = /^#token=(dpk_[0-9a-f]+)$/.exec(location.hash) ?? [];
  if (given) {
    token.set(given);
    history.replaceState(null, "", "#/");
  }
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
