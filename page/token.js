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

/** Whether the page is this machine's: `dataperf local` prints addresses with tokens. */
const isLocal = () => ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);

/**
 * A token in the address is taken out of it, so that it is neither seen nor passed on. On this machine it signs in whoever is not signed in.
 * Elsewhere, or where there is another token, it is put into the dialog: anybody could make an address that signs others in as its maker.
 */
export function takeFromAddress() {
  const [, given] = /^#token=(dpk_[0-9a-f]+)$/.exec(location.hash) ?? [];
  if (!given) return;
  history.replaceState(null, "", "#/");
  if (isLocal() && [null, given].includes(token.get())) {
    token.set(given);
    shown();
    return;
  }
  element("token-value").value = given;
  element("token-problem").textContent = "The address has this token. Sign in with it if it is yours.";
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
