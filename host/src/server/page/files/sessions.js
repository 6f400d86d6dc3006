// The list of sessions.

import { call } from "./api.js";
import { h, keyed, say, set } from "./dom.js";
import { ago, plural } from "./format.js";

/** Shows the sessions in a panel; `open(name)` is called when one is picked. */
export class Sessions {
  constructor(panel, open) {
    this.open = open;
    this.sessions = [];
    this.current = null;
    this.filter = panel.querySelector("#filter");
    this.list = panel.querySelector("#session-list");
    this.note = panel.querySelector("#session-note");
    this.filter.addEventListener("input", () => this.draw());
    panel.querySelector("#new-session").addEventListener("click", () => open(fresh()));
  }

  /** Asks the server anew. */
  async refresh() {
    try {
      this.sessions = await call("GET", "/api/sessions");
      this.error = null;
    } catch (error) {
      this.error = error.message;
    }
    this.draw();
  }

  select(name) {
    this.current = name;
    this.draw();
  }

  draw() {
    const wanted = this.filter.value.trim().toLowerCase();
    // One that has no message yet is nowhere but here.
    const known = this.sessions.some((session) => session.name === this.current);
    const all = known || !this.current ? this.sessions : [{ name: this.current, messages: 0 }, ...this.sessions];
    const found = all.filter((session) => session.name.toLowerCase().includes(wanted));
    keyed(this.list, found, (session) => session.name, (session) => this.item(session.name), (node, session) => {
      const [button] = node.children;
      set(button, "aria-current", session.name === this.current ? "page" : null);
      say(button.lastChild, session.messages ? `${plural(session.messages, "message")}, ${ago(session.changedAt)}` : "new");
    });
    say(this.note, this.error ?? (found.length ? "" : "No session has this in its name."));
  }

  item(name) {
    const button = h("button", { type: "button", class: "session", onclick: () => this.open(name) },
      h("span", { class: "name" }, name), h("span", { class: "muted" }));
    return h("li", {}, button);
  }
}

/** A name for a new session: its day, and enough chance that it is new. */
export function fresh() {
  return `${new Date().toISOString().slice(0, 10)}-${crypto.randomUUID().slice(0, 6)}`;
}
