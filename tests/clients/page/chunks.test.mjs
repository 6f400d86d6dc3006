import assert from "node:assert/strict";
import { test } from "node:test";

import { Answer } from "../../../host/src/server/page/files/chunks.js";

function played(chunks, message = { id: "m", role: "assistant", parts: [] }) {
  const answer = new Answer(message);
  for (const chunk of chunks) answer.apply(chunk);
  return answer.message;
}

test("texts and reasoning grow by their ids, which begin anew in each step", () => {
  const message = played([
    { type: "start", messageId: "given" },
    { type: "start-step" },
    { type: "reasoning-start", id: "0" },
    { type: "text-start", id: "0" },
    { type: "reasoning-delta", id: "0", delta: "hm" },
    { type: "text-delta", id: "0", delta: "Hello " },
    { type: "text-delta", id: "0", delta: "there" },
    { type: "reasoning-end", id: "0" },
    { type: "text-end", id: "0" },
    { type: "finish-step" },
    { type: "start-step" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "again" },
  ]);
  assert.equal(message.id, "given");
  assert.deepEqual(message.parts, [
    { type: "step-start" },
    { type: "reasoning", text: "hm", state: "done" },
    { type: "text", text: "Hello there", state: "done" },
    { type: "step-start" },
    { type: "text", text: "again", state: "streaming" },
  ]);
});

test("a call goes from its first letter to its output in one part", () => {
  const states = [];
  const answer = new Answer({ id: "m", parts: [] });
  for (const chunk of [
    { type: "tool-input-start", toolCallId: "c", toolName: "add" },
    { type: "tool-input-delta", toolCallId: "c", inputTextDelta: '{"a"' },
    { type: "tool-input-available", toolCallId: "c", toolName: "add", input: { a: 1 } },
    { type: "tool-approval-request", toolCallId: "c", approvalId: "p" },
    { type: "tool-output-available", toolCallId: "c", output: 1, preliminary: true },
    { type: "tool-output-available", toolCallId: "c", output: 2 },
  ]) {
    answer.apply(chunk);
    states.push(answer.message.parts[0].state);
  }
  assert.deepEqual(states, [
    "input-streaming", "input-streaming", "input-available", "approval-requested", "output-available", "output-available",
  ]);
  assert.deepEqual(answer.message.parts, [{
    type: "tool-add", toolName: "add", toolCallId: "c", state: "output-available", input: { a: 1 }, approval: { id: "p" },
    output: 2, preliminary: false,
  }]);
});

test("failures keep their words", () => {
  const [wrong, failed, denied] = played([
    { type: "tool-input-error", toolCallId: "a", toolName: "t", input: "{", errorText: "no JSON" },
    { type: "tool-input-available", toolCallId: "b", toolName: "t", input: {} },
    { type: "tool-output-error", toolCallId: "b", errorText: "too slow" },
    { type: "tool-input-available", toolCallId: "c", toolName: "t", input: {} },
    { type: "tool-output-denied", toolCallId: "c" },
  ]).parts;
  assert.deepEqual([wrong.state, wrong.input, wrong.errorText], ["output-error", "{", "no JSON"]);
  assert.deepEqual([failed.state, failed.errorText], ["output-error", "too slow"]);
  assert.equal(denied.state, "output-denied");
});

test("a continuation goes on in a message, and answers calls that stand there", () => {
  const stored = { id: "m", role: "assistant", parts: [{ type: "tool-t", toolCallId: "c", state: "approval-responded", input: {} }] };
  const message = played([
    { type: "start" },
    { type: "tool-output-available", toolCallId: "c", output: "done" },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "So." },
  ], stored);
  assert.equal(message.id, "m");
  assert.deepEqual(message.parts.map((part) => part.state), ["output-available", "streaming"]);
});

test("data takes the place of data with its id, what is transient is not kept, what is unknown changes nothing", () => {
  const message = played([
    { type: "data-progress", id: "p", data: 1 },
    { type: "data-progress", id: "p", data: 2 },
    { type: "data-note", data: "a" },
    { type: "data-note", data: "b", transient: true },
    { type: "from-the-future", id: "0" },
  ]);
  assert.deepEqual(message.parts.map((part) => part.data), [2, "a"]);
});
