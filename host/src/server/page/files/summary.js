// What each extension has cost in a turn, and what it has logged.

import { call } from "./api.js";
import { costs } from "./config.js";
import { fill, h, keyed, say, set } from "./dom.js";
import { bytes, count, ms, plural } from "./format.js";

/** Shows a turn's extensions in an element. */
export function drawSummary(element, turn, session) {
  const rows = costs(turn.rows);
  element.classList.toggle("none", rows.length === 0);
  keyed(element, rows, (row) => `${turn.id} ${row.extension}`, () => make(turn, session), update);
}

function make(turn, session) {
  const log = h("div", { class: "log" }, h("p", { class: "muted" }, "…"));
  const row = h("details", { class: "cost-row" },
    h("summary", {}, h("b"), h("span", { class: "note bad" }), h("span", { class: "cost" })),
    log);
  const load = () => row.open && lines(log, row.extension, turn, session);
  row.addEventListener("toggle", load);
  row.load = load;
  row.turn = turn;
  return row;
}

function update(row, cost) {
  row.extension = cost.extension;
  set(row, "data-extension", cost.extension);
  const [name, errors, numbers] = row.firstChild.children;
  say(name, cost.extension);
  errors.hidden = !cost.errors && !cost.denied;
  say(errors, [cost.errors && plural(cost.errors, "error"), cost.denied && `${cost.denied} denied`].filter(Boolean).join(", "));
  const calls = [cost.hooks && plural(cost.hooks, "hook call"), cost.tools && plural(cost.tools, "tool call")].filter(Boolean);
  const words = [calls.join(", "), `${count(cost.fuel)} fuel`, bytes(cost.memoryBytes), ms(cost.durationMs)];
  if (row.words !== words.join()) {
    row.words = words.join();
    fill(numbers, words.map((word) => h("span", {}, word)));
  }
  // What it logs comes with its calls: when the turn is over there may be more.
  if (row.status !== row.turn.status) {
    row.status = row.turn.status;
    row.load();
  }
}

async function lines(element, extension, turn, session) {
  const query = new URLSearchParams({ session, requestId: turn.id, limit: 200 });
  try {
    const found = await call("GET", `/api/extensions/${encodeURIComponent(extension)}/log?${query}`);
    fill(element, found.length ? h("ol", { class: "lines" }, found.map(line)) : h("p", { class: "muted" }, "It has logged nothing in this turn."));
  } catch (error) {
    fill(element, h("p", { class: "bad" }, error.message));
  }
}

function line({ time, level, source, message }) {
  return h("li", { "data-level": level },
    h("time", { datetime: time }, time.slice(11, 23)), h("b", {}, level), source === "host" ? h("i", {}, "host") : null,
    h("span", {}, message));
}
