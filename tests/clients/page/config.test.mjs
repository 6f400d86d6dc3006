import assert from "node:assert/strict";
import { test } from "node:test";

import { changes, costs, difference } from "../../../host/src/server/page/files/config.js";
import { permissions } from "../../../host/src/server/page/files/permissions.js";
import { duration, Turns } from "../../../host/src/server/page/files/turns.js";

const call = (hook, extension, more = {}) => ({
  type: "hook-call", hook, extension, durationMs: 1, fuel: 10, memoryBytes: 64, outputBytes: 0, snapshots: 1, ...more,
});

function played(events) {
  const turns = new Turns();
  let at = 1000;
  turns.take({ type: "turn-started", requestId: "r", trigger: "ws-chat", continuation: false, at });
  for (const event of events) turns.take({ type: "turn", requestId: "r", event, at: (at += 10) });
  turns.take({ type: "turn-ended", requestId: "r", status: "completed", at: at + 10 });
  return turns;
}

const sets = (field, value) => ({ changes: [{ field, value }] });

test("the last one who sets a field is the one that counts", () => {
  const { turns } = played([
    { type: "config-change", ...sets("maxSteps", 20) },
    call("beforeTurn", "a", { changes: [{ field: "maxSteps", value: 3 }, { field: "system", value: "S" }] }),
    call("beforeTurn", "b", sets("system", "S and more")),
    call("beforeTurn", "c", sets("maxSteps", null)),
    { type: "start-step" },
    call("beforeStep", "b", sets("system", "of this step")),
  ]);
  const found = changes(turns[0].rows);
  assert.deepEqual(found.map(({ section, field }) => [section, field]), [[0, "system"], [0, "maxSteps"], [1, "system"]]);
  assert.deepEqual(found[0].writes.map(({ extension, value }) => [extension, value]), [["a", "S"], ["b", "S and more"]]);
  assert.deepEqual(found[1].writes.map(({ extension }) => extension), ["the host", "a", "c"]);
  assert.deepEqual(found[1].writes.at(-1), { extension: "c", hook: "beforeTurn", value: null });
});

test("what a text has that the one before it has not", () => {
  for (const [old, text, added, removed] of [
    ["You help.", "You help.\nRules: x", "\nRules: x", ""],
    ["ab cd ef", "ab XX ef", "XX", "cd"],
    ["aa", "aaa", "a", ""],
    ["", "new", "new", ""],
    ["same", "same", "", ""],
  ]) {
    const found = difference(old, text);
    assert.deepEqual([found.added, found.removed], [added, removed]);
    assert.equal(found.before + found.added + found.after, text);
    assert.equal(found.before + found.removed + found.after, old);
  }
});

test("calls that are told late stand in their step", () => {
  const { turns } = played([
    call("beforeTurn", "meter"),
    { type: "start", messageId: "m" },
    { type: "start-step" },
    { type: "tool-call", toolCallId: "c", toolName: "calc_evaluate", input: {} },
    { type: "tool-cost", extension: "calc", toolName: "calc_evaluate", toolCallId: "c", durationMs: 2, fuel: 5, memoryBytes: 128, outputBytes: 1 },
    { type: "tool-result", toolCallId: "c", toolName: "calc_evaluate", output: 42 },
    { type: "finish-step", finishReason: "tool-calls", usage: { inputTokens: 1 } },
    { type: "start-step" },
    call("beforeStep", "meter"),
    call("onChunk", "meter", { snapshots: 4 }),
    call("onChunk", "meter", { snapshots: 2 }),
    { type: "finish-step", finishReason: "stop", usage: {} },
    call("onStepFinish", "meter"),
    call("beforeStep", "meter"),
    call("onChunk", "meter"),
    call("onChatResponse", "meter"),
  ]);
  const rows = turns[0].rows.filter((row) => row.kind === "hook").map((row) => [row.section, row.hook, row.snapshots]);
  assert.deepEqual(rows, [
    [0, "beforeTurn", 1], [1, "beforeStep", 1], [1, "onChunk", 6], [1, "onStepFinish", 1], [2, "beforeStep", 1],
    [2, "onChunk", 1], [Infinity, "onChatResponse", 1],
  ]);
  const tool = turns[0].rows.find((row) => row.kind === "tool");
  assert.deepEqual([tool.section, tool.state, tool.extension, tool.durationMs], [1, "done", "calc", 2]);
  const models = turns[0].rows.filter((row) => row.kind === "model").map((row) => row.finishReason);
  assert.deepEqual(models, ["tool-calls", "stop"]);
  assert.deepEqual(costs(turns[0].rows).map(({ extension, hooks, tools, fuel }) => [extension, hooks, tools, fuel]), [
    ["meter", 8, 0, 80], ["calc", 0, 1, 5],
  ]);
});

test("a turn that is told once more is there once", () => {
  const turns = played([{ type: "start-step" }, call("beforeStep", "a")]);
  turns.take({ type: "turn-started", requestId: "r", trigger: "ws-chat", continuation: false, at: 1000 });
  turns.take({ type: "turn", requestId: "r", event: { type: "start-step" }, at: 1001 });
  assert.equal(turns.turns.length, 1);
  assert.deepEqual(turns.turns[0].rows.map((row) => row.kind), ["model"]);
});

test("a turn is found by its message, the latest one that wrote it", () => {
  const turns = played([{ type: "start", messageId: "m" }]);
  turns.take({ type: "turn-started", requestId: "next", trigger: "auto-continuation", continuation: true, at: 5000 });
  turns.take({ type: "turn", requestId: "next", event: { type: "start", messageId: "m" }, at: 5001 });
  assert.equal(turns.of("m").id, "next");
  assert.equal(turns.of("other"), null);
  assert.equal(duration(turns.turns[0]), 20);
  assert.equal(duration(turns.turns[1], 5500), 500);
});

test("permissions that are asked for and not granted stand out", () => {
  const found = permissions({
    asked: { network: ["api.example.org", "b.org"], decide: ["beforeToolCall"], messages: true, workspace: "read", "storage-bytes": 9 },
    granted: { network: [{ host: "*.example.org", methods: ["GET"] }], messages: true, workspace: { dir: "/x", access: "read" } },
  });
  const granted = Object.fromEntries(found.filter((right) => right.asked).map((right) => [right.text, right.granted]));
  assert.deepEqual(granted, {
    "network=api.example.org": true, "network=b.org": false, "decide=beforeToolCall": false, messages: true, "workspace=read": true,
  });
  assert.deepEqual(found.filter((right) => !right.asked).map((right) => right.text), ["network=*.example.org"]);
});
