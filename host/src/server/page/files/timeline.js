// A turn from its beginning to its end.

import { fill, h, keyed, say, set } from "./dom.js";
import { clock, count, ms, plural } from "./format.js";
import { makeRow, updateRow } from "./rows.js";
import { duration } from "./turns.js";

/** What a section of a turn is called. */
export function sectionName(section) {
  if (section === 0) return "Before the first step";
  return Number.isFinite(section) ? `Step ${section}` : "After the last step";
}

/** One line on a turn as a whole. */
export function describe(turn) {
  const status = turn.status ?? "running";
  return `${clock(turn.startedAt)} · ${turn.trigger ?? "turn"} · ${status} · ${ms(duration(turn))}`;
}

/** Shows a turn in an element; what is open in it stays so. */
export function drawTimeline(element, turn) {
  const names = [...new Set(turn.rows.map((row) => row.section))].sort((a, b) => a - b);
  const sections = names.map((section) => ({ section, rows: inOrder(turn.rows.filter((row) => row.section === section)) }));
  // Watchers may be called after the end; their bars end there, too.
  const last = turn.rows.map((row) => row.at + (row.durationMs ?? 0));
  const span = { start: turn.startedAt, length: Math.max(duration(turn), ...last.map((at) => at - turn.startedAt)) };
  const parts = [{ key: "head" }, ...sections.map((part) => ({ ...part, key: `${turn.id} ${part.section}` })), { key: "end" }];
  keyed(element, parts, ({ key }) => key, make, (node, part) => update(node, part, turn, span));
}

/** Extensions that only watch tell of their calls late, yet what stands around a step stands around it here, too. */
function inOrder(rows) {
  const rank = (row) => (row.hook === "beforeStep" ? 0 : row.kind === "model" ? 1 : row.hook === "onStepFinish" ? 3 : 2);
  return [...rows].sort((a, b) => rank(a) - rank(b) || a.key - b.key);
}

function make({ key }) {
  if (key === "head" || key === "end") return h("div", { class: `turn-${key}` });
  return h("section", { class: "step" }, h("h4", {}, h("span"), h("span", { class: "muted" })), h("div", { class: "events" }));
}

function update(node, part, turn, span) {
  if (part.key === "head") return head(node, turn);
  if (part.key === "end") return end(node, turn);
  const [title, list] = node.children;
  say(title.firstChild, sectionName(part.section));
  const tools = part.rows.filter((row) => row.kind === "tool").length;
  say(title.lastChild, tools ? plural(tools, "tool call") : "");
  keyed(list, part.rows, (row) => row.key, makeRow, (row, data) => updateRow(row, data, span));
  return undefined;
}

function head(node, turn) {
  const trigger = turn.continuation ? `${turn.trigger}, a continuation` : (turn.trigger ?? "begun before this page");
  say(node, `Started at ${clock(turn.startedAt)} by ${trigger}`);
}

function end(node, turn) {
  const usage = turn.usage ?? {};
  const tokens = usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  const words = [turn.status ?? "running…", ms(duration(turn)), plural(turn.steps, "step"), tokens && `${count(tokens)} tokens`];
  set(node, "data-status", turn.status ?? "running");
  fill(node, h("p", {}, h("strong", {}, words[0]), words.slice(1).filter(Boolean).map((word) => ` · ${word}`)),
    turn.error && h("p", { class: "bad" }, turn.error));
}
