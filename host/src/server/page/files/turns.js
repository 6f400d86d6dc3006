// A session's turns out of its events: what the timeline shows, as plain data.

/** Turns that are remembered. */
const KEPT = 50;

const BEFORE = new Set(["beforeTurn"]);
const AFTER = new Set(["onChatResponse", "onChatError"]);

/**
 * Collects events. `turns` are in order, each `{id, trigger, continuation, startedAt, endedAt, status, error, messageId,
 * usage, rows, version}`; a row is `{key, kind, section, at, version, …}`. Section 0 is before the first step, n the step,
 * Infinity after the last.
 */
export class Turns {
  constructor() {
    this.turns = [];
    this.known = new Map();
  }

  /** Takes an event of `/api/sessions/{session}/events`. Gives back the turn that it is about, if it is about one. */
  take(event) {
    const id = event.requestId ?? event.event?.requestId;
    if (!id) return null;
    // The server tells all that it remembers to a page that has lost its place: the turn comes once more, as a whole.
    if (event.type === "turn-started") this.forget(id);
    const turn = this.turn(id, event.at);
    turn.version += 1;
    if (event.type === "turn-started") {
      turn.trigger = event.trigger;
      turn.continuation = event.continuation;
      turn.startedAt = event.at;
    } else if (event.type === "turn-ended") {
      end(turn, event.at, event.status, event.error);
    } else if (event.event) {
      one(turn, event.event, event.at);
    }
    return turn;
  }

  turn(id, at) {
    const found = this.known.get(id);
    if (found) return found;
    const turn = { id, startedAt: at, rows: [], version: 0, steps: 0, calls: new Map(), hookSteps: new Map() };
    this.known.set(id, turn);
    this.turns.push(turn);
    while (this.turns.length > KEPT) this.known.delete(this.turns.shift().id);
    return turn;
  }

  forget(id) {
    this.turns = this.turns.filter((turn) => turn.id !== id);
    this.known.delete(id);
  }

  /** The turn that wrote a message last. */
  of(messageId) {
    return this.turns.findLast((turn) => turn.messageId === messageId) ?? null;
  }
}

function end(turn, at, status, error) {
  turn.endedAt ??= at;
  turn.status = status;
  if (error) turn.error = error;
}

function one(turn, event, at) {
  switch (event.type) {
    case "start":
      turn.messageId = event.messageId;
      return;
    case "start-step":
      turn.steps += 1;
      add(turn, { kind: "model", section: turn.steps, at, events: [] });
      return;
    case "finish-step": {
      const row = model(turn, at);
      Object.assign(row, { finishReason: event.finishReason, usage: event.usage });
      row.durationMs ??= at - row.at;
      touch(row, event);
      return;
    }
    case "finish":
      turn.usage = event.totalUsage;
      return;
    case "hook-call":
      hook(turn, event, at);
      return;
    case "tool-call":
    case "tool-result":
    case "tool-error":
    case "tool-approval-request":
    case "tool-cost":
      tool(turn, event, at);
      return;
    case "text-end":
    case "reasoning-end": {
      const row = model(turn, at);
      row.durationMs = at - row.at;
      return;
    }
    case "chat:turn:start":
      return;
    case "chat:turn:finish":
      turn.durationMs = event.durationMs;
      end(turn, at, event.status, event.error);
      return;
    case "abort":
    case "error":
      cut(turn);
      add(turn, { kind: event.type, section: turn.steps, at, events: [event] });
      return;
    case "retry":
    case "config-change":
    case "extension-health":
    case "user-message":
    case "message-updated":
      add(turn, { kind: event.type, section: turn.steps, at, events: [event] });
      return;
    default:
      if (event.type?.includes(":")) add(turn, { kind: event.type, section: turn.steps, at, events: [event] });
  }
}

function add(turn, row) {
  row.key = turn.rows.length;
  row.version = 0;
  turn.rows.push(row);
  return row;
}

function touch(row, event) {
  row.events.push(event);
  row.version += 1;
}

function model(turn, at) {
  const row = turn.rows.findLast((other) => other.kind === "model");
  return row ?? add(turn, { kind: "model", section: turn.steps, at, events: [] });
}

/** The model was still writing. */
function cut(turn) {
  const row = turn.rows.findLast((other) => other.kind === "model");
  if (!row || row.finishReason) return;
  row.cut = true;
  row.version += 1;
}

/** An extension's `onChunk` calls of a step are one row: there is one for every few chunks. */
function hook(turn, event, at) {
  const section = stepOf(turn, event);
  const { hook: name, extension } = event;
  const same = (row) => row.hook === name && row.extension === extension && row.section === section;
  const found = name === "onChunk" ? turn.rows.find(same) : null;
  const empty = { durationMs: 0, fuel: 0, snapshots: 0, events: [] };
  const row = found ?? add(turn, { kind: "hook", section, hook: name, extension, at: at - event.durationMs, ...empty });
  row.durationMs += event.durationMs;
  row.fuel += event.fuel;
  row.snapshots += event.snapshots;
  row.memoryBytes = Math.max(row.memoryBytes ?? 0, event.memoryBytes);
  row.error ??= event.error;
  touch(row, event);
}

/**
 * The step that a call of a hook belongs to. Extensions that only watch are called beside the turn, maybe late, but each in
 * the order of the turn: so its own `beforeStep` and `onStepFinish` calls say where it is.
 */
function stepOf(turn, { hook: name, extension }) {
  if (BEFORE.has(name)) return 0;
  if (AFTER.has(name)) return Infinity;
  const own = turn.hookSteps.get(extension) ?? { begun: 0, finished: 0 };
  turn.hookSteps.set(extension, own);
  if (name === "beforeStep") own.begun += 1;
  if (name === "onStepFinish") own.finished += 1;
  if (own.begun) return own.begun;
  if (own.finished) return own.finished + (name === "onStepFinish" ? 0 : 1);
  return Math.max(1, turn.steps);
}

function tool(turn, event, at) {
  let row = turn.calls.get(event.toolCallId);
  if (!row) {
    row = add(turn, { kind: "tool", section: Math.max(1, turn.steps), at, toolName: event.toolName, state: "called", events: [] });
    turn.calls.set(event.toolCallId, row);
  }
  if (event.type === "tool-call" && event.malformed) row.error = event.malformed;
  if (event.type === "tool-approval-request") row.state = "waits for approval";
  if (event.type === "tool-result") row.state = event.preliminary ? "running" : "done";
  if (event.type === "tool-error") Object.assign(row, { state: "failed", error: event.error?.message ?? String(event.error) });
  if (event.type === "tool-cost") {
    const { extension, durationMs, fuel, memoryBytes, error } = event;
    Object.assign(row, { extension, durationMs, fuel, memoryBytes, at: at - durationMs });
    row.error ??= error;
  }
  touch(row, event);
}

/** How long a turn took, in milliseconds; until now if it runs. */
export function duration(turn, now = Date.now()) {
  return turn.durationMs ?? (turn.endedAt ?? now) - turn.startedAt;
}
