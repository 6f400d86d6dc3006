import assert from "node:assert/strict";
import { test } from "node:test";

import { component } from "../component.js";
import * as contract from "../contract.js";
import { BridgeError, context, extension, InvalidInput, log, messages, session, settings, storage } from "../index.js";
import { TestHost } from "../testing.js";
import { decode, encode, variant } from "../wire.js";

const ABOUT = { name: "about", version: "1.2.3", description: "from the package" };

/** The exports as the real host gets them. */
function exported(definition) {
  return component(extension(definition), ABOUT, {});
}

test("an extension tells what is written and nothing else", () => {
  const { describe } = exported({
    hooks: { beforeTurn() {}, onChunk() {} },
    tools: { go: { description: "Goes", inputSchema: { type: "object" }, execute() {}, replay: "safe" } },
    permissions: { decide: ["beforeToolCall"] },
    context: [{ label: "notes", maxTokens: 100 }],
  }).extensionManifest;
  const manifest = describe();
  assert.deepEqual([manifest.name, manifest.version, manifest.description], ["about", "1.2.3", "from the package"]);
  assert.deepEqual(manifest.hooks, ["before-turn", "on-chunk"]);
  assert.deepEqual(manifest.tools, [{
    name: "go", description: "Goes", inputSchema: '{"type":"object"}', replay: "safe", sequential: false,
    needsApproval: false,
  }]);
  assert.deepEqual(manifest.permissions.decide, ["before-tool-call"]);
  assert.equal(manifest.permissions.workspace, "none");
  assert.equal(manifest.settingsSchema, undefined);
});

test("a misspelt word is refused with the words that there are", () => {
  assert.throws(() => extension({ hooks: { beforeturn() {} } }), /no "beforeturn" in the hooks; known are beforeTurn, /);
  assert.throws(() => extension({ tool: {} }), /no "tool" in an extension; known are name, /);
  assert.throws(() => extension({ hooks: { onChunk: 1 } }), /the hook onChunk is no function/);
  assert.throws(() => extension({ tools: { go: { description: "Goes" } } }), /the tool go has no execute function/);
  assert.throws(() => extension({ tools: { go: { execute() {} } } }), /the tool go has no description/);
  const later = /is async, but the sandbox cannot wait/;
  assert.throws(() => extension({ hooks: { async onChunk() {} } }), later);
  assert.throws(() => extension({ tools: { go: { description: "Goes", execute: async () => {} } } }), later);
});

test("snapshots and answers are values, their JSON text stays outside", () => {
  const shown = [];
  const { hooks } = exported({
    hooks: {
      beforeTurn(turn) {
        shown.push(turn);
        return {
          system: "new", temperature: 0.5, topP: null, seed: undefined, messages: [{ role: "user", content: "hi" }],
          toolChoice: { type: "tool", toolName: "go" }, headers: { "x-a": "1" }, providerOptions: { openai: {} },
        };
      },
      beforeStep: (step) => void shown.push(step),
      beforeToolCall: ({ input }) => ({ action: "allow", input: { ...input, more: true } }),
      afterToolCall: (call) => (call.success ? { output: null, isError: true } : { output: call.error.message }),
    },
  });
  const turn = { system: "old", body: '{"a":1}', trigger: "rpc" };
  assert.deepEqual(hooks.beforeTurn(turn), {
    system: "new", temperature: 0.5, messages: '[{"role":"user","content":"hi"}]', headers: [["x-a", "1"]],
    toolChoice: { tag: "tool", val: "go" }, providerOptions: '{"openai":{}}', reset: ["topP"],
  });
  const totalUsage = { inputTokens: 3n, outputTokens: null };
  assert.equal(hooks.beforeStep({ stepNumber: 1, totalUsage }), undefined);
  assert.deepEqual(shown, [{ ...turn, body: { a: 1 } }, { stepNumber: 1, totalUsage: { inputTokens: 3 } }]);
  assert.deepEqual(hooks.beforeToolCall({ input: '{"x":1}' }), { tag: "allow", val: '{"x":1,"more":true}' });
  const ok = { input: "{}", result: { tag: "ok", val: "[1]" } };
  assert.deepEqual(hooks.afterToolCall(ok), { output: "null", isError: true });
  const failed = { input: "{}", result: { tag: "err", val: { name: "Error", message: "no" } } };
  assert.deepEqual(hooks.afterToolCall(failed), { output: '"no"' });
  assert.equal(hooks.onChatError({}), undefined);
});

test("an answer of the wrong type is the hook's error", () => {
  for (const [answer, said] of [
    [{ temperature: "hot" }, "temperature is not a number"],
    [{ maxSteps: -1 }, "maxSteps is not a whole number of at least 0"],
    [{ activeTools: [1] }, "an entry of activeTools is not text"],
    [{ headers: { a: 1 } }, "headers.a is not text"],
    [{ toolChoice: "any" }, 'toolChoice is not "auto", "none", "required" or { type: "tool", toolName }'],
    ["text", "the answer is not an object"],
    [Promise.resolve(), "it answers with a promise, for which the sandbox cannot wait"],
  ]) {
    const { hooks } = exported({ hooks: { beforeTurn: () => answer } });
    assert.throws(() => hooks.beforeTurn({}), (error) => error === said, said);
  }
  const { hooks } = exported({ hooks: { beforeTurn: () => ({ sytem: "" }), beforeToolCall: () => ({ action: "deny" }) } });
  assert.throws(() => hooks.beforeTurn({}), (error) => error.startsWith('there is no "sytem" in an answer'));
  assert.throws(
    () => hooks.beforeToolCall({ input: "{}" }),
    (error) => error === 'action is not "allow", "block" or "substitute"',
  );
});

test("what a tool throws is the call's error", () => {
  const { tools } = exported({
    tools: {
      echo: { description: "Echoes", execute: (input, call) => ({ input, key: call.idempotencyKey }) },
      silent: { description: "Says nothing", execute() {} },
      fails: {
        description: "Fails",
        execute({ how }) {
          if (how === "input") throw new InvalidInput("another");
          if (how === "text") throw "plain";
          throw new Error("it failed");
        },
      },
    },
  });
  assert.equal(tools.call("echo", "[1]", { idempotencyKey: "k" }), '{"input":[1],"key":"k"}');
  assert.equal(tools.call("silent", "{}", {}), "null");
  for (const [name, input, tag, val] of [
    ["fails", { how: "input" }, "invalid-input", "another"],
    ["fails", { how: "text" }, "failed", "plain"],
    ["fails", {}, "failed", "it failed"],
    ["toString", {}, "unknown-tool", undefined],
  ]) {
    assert.throws(() => tools.call(name, JSON.stringify(input), {}), (error) => {
      assert.deepEqual([error.tag, error.val], [tag, val]);
      return true;
    });
  }
});

test("the bridge is reached through the host of the test", () => {
  const host = new TestHost(
    extension({
      description: "Asks for everything",
      tools: {
        ask: {
          description: "Asks",
          execute() {
            storage.set("list", ["ü", 1]);
            storage.setBytes("raw", Uint8Array.of(0, 255));
            log.warn("kept", { at: 1 });
            context.set("notes", `${context.get("notes")}!`);
            session.sendMessage("hello");
            assert.throws(() => context.set("none", ""), (error) => error instanceof BridgeError && error.code === "not-found");
            assert.throws(() => storage.set("x".repeat(513), 1), /^BridgeError: too large: /);
            const raw = [...storage.getBytes("raw")];
            return {
              list: storage.get("list"), raw, none: storage.get("none") === undefined, gone: storage.delete("raw"),
              count: storage.increment("count", 2), keys: storage.keys(), settings: settings(), last: messages.recent(1),
              session: session.info(),
            };
          },
        },
      },
    }),
    {
      settings: { limit: 3 }, storage: { count: 40 }, context: { notes: "old" },
      messages: [{ role: "user", content: "a" }, { role: "assistant", content: "b" }],
    },
  );
  assert.deepEqual(host.callTool("ask"), {
    list: ["ü", 1], raw: [0, 255], none: true, gone: true, count: 42, keys: ["count", "list"], settings: { limit: 3 },
    last: [{ id: "message-1", role: "assistant", content: "b" }], session: { name: "test", messageCount: 2 },
  });
  assert.deepEqual(host.log, [{ level: "warn", message: 'kept {"at":1}' }]);
  assert.deepEqual([host.context.notes, host.sent, host.storage.count], ["old!", ["hello"], 42]);
});

test("the host of a test fires hooks and takes answers as the real one does", () => {
  const host = new TestHost(extension({ hooks: { beforeTurn: ({ system }) => ({ system: `${system}+` }) } }));
  assert.deepEqual(host.hook("beforeTurn", { system: "SYS" }), { system: "SYS+" });
  assert.equal(host.hook("beforeStep"), undefined);
  const wrong = new TestHost(extension({ hooks: { beforeTurn: () => ({ topK: "many" }) } }));
  assert.throws(() => wrong.hook("beforeTurn"), /topK is not a whole number/);
  assert.throws(() => wrong.callTool("go"), { name: "ToolError", kind: "unknown-tool" });
});

test("the host of a test shows and hears what the author writes, by way of the contract", () => {
  const given = {
    beforeTurn: {
      system: "S", topP: null, toolChoice: { type: "tool", toolName: "go" }, messages: [{ role: "user" }], seed: 1,
      headers: { "x-a": "1" }, providerOptions: { openai: {} },
    },
    beforeStep: { toolChoice: "auto", activeTools: [] },
    beforeToolCall: { action: "substitute", output: { a: null } },
    afterToolCall: { output: null, isError: true },
  };
  const hooks = Object.fromEntries(Object.entries(given).map(([name, answer]) => [name, () => answer]));
  const host = new TestHost(extension({ hooks }));
  for (const [name, answer] of Object.entries(given)) assert.deepEqual(host.hook(name), answer, name);
  for (const decision of [{ action: "allow" }, { action: "allow", input: [] }, { action: "block", reason: "r" }, { action: "block" }]) {
    const deciding = new TestHost(extension({ hooks: { beforeToolCall: () => decision } }));
    assert.deepEqual(deciding.hook("beforeToolCall"), decision);
  }
  const shown = [];
  const watching = new TestHost(extension({ hooks: { afterToolCall: (call) => void shown.push(call) } }));
  watching.hook("afterToolCall", { output: [1] });
  watching.hook("afterToolCall", { success: false, error: { name: "Error", message: "no" } });
  assert.deepEqual(shown.map(({ success, output, error }) => [success, output, error?.message]), [[true, [1], undefined], [false, undefined, "no"]]);
});

test("the sandbox is spoken to in its own words", () => {
  const call = contract.snapshot("afterToolCall", { toolCallId: "c", input: { inputKey: 1 }, outcome: "executed", success: true, output: 1 });
  assert.deepEqual(encode(call), {
    tool_call_id: "c", input: '{"inputKey":1}', outcome: "Executed", result: { Ok: "1" },
  });
  assert.deepEqual(encode([{ type: "text-delta", text: "t", toolName: undefined }]), [
    { type_: "TextDelta", text: "t", tool_name: undefined },
  ]);
  assert.deepEqual(encode({ trigger: "ws-chat", totalUsage: { inputTokens: 1 }, decide: ["before-step"] }), {
    trigger: "WsChat", total_usage: { input_tokens: 1 }, decide: ["BeforeStep"],
  });
  const config = { system: null, max_steps: 3, tool_choice: { Tool: "go" }, headers: [], reset: ["topP"] };
  assert.deepEqual(contract.answer("beforeTurn", decode("beforeTurn", config)), {
    maxSteps: 3, toolChoice: { type: "tool", toolName: "go" }, topP: null,
  });
  assert.deepEqual(decode("beforeToolCall", { Block: null }), { tag: "block", val: undefined });
  assert.equal(decode("onChunk", null), undefined);
  assert.deepEqual([variant("UnknownTool"), variant({ InvalidInput: "t" })], [
    { tag: "unknown-tool" }, { tag: "invalid-input", val: "t" },
  ]);
});
