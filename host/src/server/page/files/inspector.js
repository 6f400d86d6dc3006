// The inspector: what happened in a turn, and because of whom.

import { listen } from "./api.js";
import { h, keyed, say, throttled } from "./dom.js";
import { drawFields } from "./fields.js";
import { drawSummary } from "./summary.js";
import { describe, drawTimeline } from "./timeline.js";
import { Turns } from "./turns.js";

/** Follows a session's events. `picked(messageId)` tells whose turn is shown, `event(event)` of all that comes. */
export class Inspector {
  constructor(panel, { picked, event }) {
    this.picked = picked;
    this.event = event;
    this.select = panel.querySelector("#turn");
    this.newest = panel.querySelector("#newest");
    this.empty = panel.querySelector("#no-turn");
    this.content = panel.querySelector("#turn-content");
    this.timeline = panel.querySelector("#timeline");
    this.fields = panel.querySelector("#fields");
    this.summary = panel.querySelector("#summary");
    this.select.addEventListener("change", () => this.choose(this.select.value));
    this.newest.addEventListener("click", () => this.follow());
    this.draw = throttled(() => this.drawNow());
  }

  /** Begins with another session. */
  begin(session) {
    this.end?.();
    this.session = session;
    this.turns = new Turns();
    /** The turn that is shown; null for the newest one, whichever that is. */
    this.chosen = null;
    this.end = listen(`/api/sessions/${encodeURIComponent(session)}/events`, (event) => {
      this.turns.take(event);
      this.event(event);
      this.draw();
    });
    this.draw();
  }

  choose(id) {
    this.chosen = id;
    this.draw();
  }

  follow() {
    this.chosen = null;
    this.draw();
  }

  /** Shows the turn that wrote a message; false if it is not known any more. */
  show(messageId) {
    const turn = this.turns.of(messageId);
    if (turn) this.choose(turn.id);
    return turn !== null;
  }

  drawNow() {
    const { turns } = this.turns;
    const turn = this.turns.known.get(this.chosen) ?? turns.at(-1);
    this.empty.hidden = Boolean(turn);
    this.content.hidden = !turn;
    this.select.disabled = !turn;
    this.newest.hidden = !turn || turn === turns.at(-1);
    keyed(this.select, [...turns].reverse(), ({ id }) => id, ({ id }) => h("option", { value: id }), (option, shown) => {
      say(option, describe(shown));
    });
    if (!turn) return this.picked(null);
    this.select.value = turn.id;
    drawTimeline(this.timeline, turn);
    drawFields(this.fields, turn);
    drawSummary(this.summary, turn, this.session);
    // A turn that runs grows older though nothing comes.
    clearTimeout(this.timer);
    if (!turn.endedAt) this.timer = setTimeout(this.draw, 1000);
    return this.picked(turn.messageId ?? null);
  }
}
