// One row of the timeline: a line that opens to the whole event.

import { box, fill, h, say, set } from "./dom.js";
import { bytes, count, ms, plural } from "./format.js";

const WORDS = {
  abort: "The turn was stopped",
  error: "The turn failed",
  retry: "The model is asked again",
  "config-change": "Built-in hooks set",
  "extension-health": "Health",
  "user-message": "A waiting message was taken up",
  "message-updated": "A message has changed",
  "chat:context:compacted": "The conversation was shortened",
  "chat:stream:stalled": "Nothing came for too long",
  "chat:transcript:repaired": "The transcript was repaired",
};

/** An empty row. What it says is for `updateRow`. */
export function makeRow() {
  const body = h("div", { class: "body" });
  const row = h("details", { class: "event" },
    h("summary", {},
      h("span", { class: "kind" }), h("span", { class: "what" }), h("span", { class: "cost" }),
      h("span", { class: "bar", "aria-hidden": "true" }, h("i"))),
    body);
  // The whole event may be large, and most rows are never opened.
  row.addEventListener("toggle", () => row.open && details(row));
  return row;
}

/** Shows a row of `turns.js`; `span` is when the turn began and how long it takes. */
export function updateRow(element, row, span) {
  place(element, row, span);
  if (element.row === row && element.version === row.version && element.settled === row.durationMs) return;
  Object.assign(element, { row, version: row.version, settled: row.durationMs });
  const { kind, what, cost } = words(row);
  const [kindBox, whatBox, costBox] = element.firstChild.children;
  element.dataset.kind = row.kind.includes(":") ? "chat" : row.kind;
  set(element, "data-name", row.toolName ?? row.extension);
  set(element, "data-bad", Boolean(row.error || row.kind === "error"));
  say(kindBox, kind);
  fill(whatBox, what);
  fill(costBox, cost.filter(Boolean).map((text) => h("span", {}, text)));
  if (element.open) details(element);
}

function place(element, row, { start, length }) {
  const bar = element.firstChild.lastChild.firstChild;
  const part = (value) => Math.min(1, Math.max(0, value / Math.max(1, length)));
  bar.style.setProperty("--from", part(row.at - start));
  bar.style.setProperty("--long", part(row.durationMs ?? 0));
}

function words(row) {
  if (row.kind === "hook") return hook(row);
  if (row.kind === "tool") return tool(row);
  if (row.kind === "model") return model(row);
  const event = row.events[0] ?? {};
  const kind = row.kind.startsWith("chat:recovery") ? "recovery" : row.kind.split(":").at(-1);
  const text = WORDS[row.kind] ?? row.kind.replace(/^chat:/, "").replaceAll(":", " ");
  if (event.changes) return { kind: "host", what: [text, note(event.changes.map((change) => change.field).join(", "), "good")], cost: [] };
  const more = event.extension ? `${event.extension} is ${event.health}` : event.error;
  const cost = [event.attempt && `attempt ${event.attempt}`, event.delayMs !== undefined && `after ${ms(event.delayMs)}`, event.reason];
  return { kind, what: [event.extension ? more : text, !event.extension && more ? note(more, "bad") : null], cost };
}

function hook(row) {
  const changed = row.events.flatMap((event) => event.changes ?? []).map((change) => change.field);
  const all = (name) => row.events.flatMap((event) => event[name] ?? []);
  const denied = row.events.reduce((sum, event) => sum + (event.denied ?? 0), 0);
  return {
    kind: row.hook,
    what: [
      h("b", {}, row.extension),
      changed.length > 0 && note(`sets ${[...new Set(changed)].join(", ")}`, "good"),
      all("decision").map((decision) => note(decision, decision === "block" ? "bad" : "good")),
      all("dropped").length > 0 && note(`${plural(all("dropped").length, "field")} dropped`, "warn"),
      denied > 0 && note(`${denied} denied`, "warn"),
      all("failure").map((failure) => note(failure, "bad")),
    ],
    cost: [
      row.hook === "onChunk" && plural(row.snapshots, "chunk"),
      `${count(row.fuel)} fuel`,
      bytes(row.memoryBytes),
      ms(row.durationMs),
    ],
  };
}

function tool(row) {
  const state = row.state === "done" ? null : note(row.state, row.error ? "bad" : "warn");
  return {
    kind: "tool",
    what: [h("b", {}, row.toolName), row.extension && h("span", { class: "muted" }, row.extension), state],
    cost: [row.fuel !== undefined && `${count(row.fuel)} fuel`, row.memoryBytes !== undefined && bytes(row.memoryBytes), ms(row.durationMs)],
  };
}

function model(row) {
  const { inputTokens, outputTokens, reasoningTokens, cachedInputTokens } = row.usage ?? {};
  const tokens = [
    inputTokens !== undefined && `${count(inputTokens)} in`,
    cachedInputTokens && `${count(cachedInputTokens)} cached`,
    outputTokens !== undefined && `${count(outputTokens)} out`,
    reasoningTokens && `${count(reasoningTokens)} reasoning`,
  ];
  return {
    kind: "model",
    what: [row.finishReason ? `ends with ${row.finishReason}` : row.cut ? "was cut off" : "writes…"],
    cost: [...tokens, ms(row.durationMs)],
  };
}

function note(text, tone) {
  return h("span", { class: `note ${tone}` }, text);
}

function details(element) {
  const { row, lastChild: body } = element;
  const errors = [...new Set(row.events.map((event) => event.error?.message ?? event.error).filter((error) => typeof error === "string"))];
  const value = row.events.length === 1 ? row.events[0] : row.events;
  fill(body,
    errors.map((error) => h("p", { class: "bad" }, error)),
    row.events.flatMap((event) => event.dropped ?? []).map((dropped) => h("p", { class: "warn" }, `Dropped: ${dropped}`)),
    box(value, "The whole event"));
}
