import assert from "node:assert/strict";
import { test } from "node:test";

import mirror from "./index.js";
import { TestHost } from "./lathe/testing.js";

test("hooks are shown what a test gives", () => {
  const host = new TestHost(mirror);
  const usage = { inputTokens: 3, totalTokens: 5 };
  for (const [hook, given] of Object.entries({
    beforeTurn: { system: "ü\u2028", toolNames: ["a"], trigger: "agent-tool", body: { a: [1] } },
    beforeStep: { stepNumber: 2, totalUsage: usage },
    beforeToolCall: { input: { toolName: "x" }, dynamic: true },
    afterToolCall: { success: true, output: [null], outcome: "substituted", durationMs: 0.5 },
    onStepFinish: { finishReason: "content-filter", usage, providerMetadata: { openai: { id: 1 } } },
    onChatResponse: { status: "aborted", error: "stopped", totalUsage: usage },
    onChatError: { stage: "persist", classification: "rate-limit" },
  })) {
    assert.equal(host.hook(hook, given), undefined);
    const shown = host.storage[hook];
    assert.deepEqual({ ...shown, ...given }, shown, hook);
  }
  const error = { name: "Error", message: "no" };
  host.hook("afterToolCall", { success: false, error });
  assert.deepEqual([host.storage.afterToolCall.success, host.storage.afterToolCall.error], [false, error]);
  const chunks = [{ type: "text-delta", text: "t" }, { type: "tool-call", toolName: "a", toolCallId: "c" }];
  host.hook("onChunk", chunks);
  assert.deepEqual(host.storage.onChunk, chunks);
});

test("a test hears what hooks answer", () => {
  const step = { system: "new", messages: [{ role: "user", content: "hi" }], activeTools: ["a"], model: "a:b" };
  for (const answers of [
    {
      beforeTurn: {
        ...step, toolChoice: { type: "tool", toolName: "a" }, maxSteps: 2, sendReasoning: false, temperature: 0.5, topP: null,
        stopSequences: ["x"], seed: -1, timeoutMs: 5, headers: { "x-a": "1" }, providerOptions: { openai: { a: 1 } },
      },
      beforeStep: { ...step, toolChoice: "required" },
      beforeToolCall: { action: "allow", input: { a: 1 } },
      afterToolCall: { output: null, isError: true, terminate: false },
    },
    { beforeTurn: {}, beforeStep: {}, beforeToolCall: { action: "block", reason: "r" }, afterToolCall: {} },
    { beforeToolCall: { action: "substitute", output: [1] } },
    { beforeToolCall: { action: "allow" } },
    { beforeToolCall: { action: "block" } },
  ]) {
    const host = new TestHost(mirror, { settings: { answers } });
    for (const hook of ["beforeTurn", "beforeStep", "beforeToolCall", "afterToolCall"]) {
      assert.deepEqual(host.hook(hook), answers[hook], hook);
    }
  }
});

test("what the host holds is the test's", () => {
  const messages = [{ role: "user", content: "a" }, { role: "assistant", content: "b" }];
  const host = new TestHost(mirror, { storage: { count: 40 }, context: { notes: "old" }, messages });
  const other = new TestHost(mirror);
  const answer = host.callTool("ask", { x: "ü" }, { idempotencyKey: "k" });
  // Only the sandbox has a limit to what is stored; the configuration of this repository's tests sets it.
  assert.equal(answer.full, process.env.LATHE_SANDBOX && "too-large");
  delete answer.full;
  assert.deepEqual(answer, {
    input: { x: "ü" }, idempotencyKey: "k", raw: [0, 255], none: true, gone: true, count: 42, keys: ["count"],
    last: [{ id: "message-1", role: "assistant", content: "b" }], session: { name: "test", messageCount: 2 },
  });
  assert.deepEqual(host.log, [{ level: "warn", message: 'kept {"at":1}' }]);
  assert.deepEqual([host.context.notes, host.sent, host.storage.count], ["old!", ["hello"], 42]);
  other.hook("onChatError");
  assert.deepEqual([Object.keys(other.storage), other.log], [["onChatError"], []]);
});

test("errors are told", () => {
  const host = new TestHost(mirror);
  assert.throws(() => host.callTool("refuse", { how: "input" }), { kind: "invalid-input", message: "another" });
  assert.throws(() => host.callTool("refuse"), { kind: "failed", message: "it failed" });
  assert.throws(() => host.callTool("none"), { kind: "unknown-tool", message: "no such tool" });
  host.settings = { fails: "kaput" };
  assert.throws(() => host.hook("beforeTurn"), { message: "kaput" });
});
