import assert from "node:assert/strict";
import { test } from "node:test";

import greeter from "./index.js";
import { TestHost } from "./lathe/testing.js";

test("the system prompt asks for greetings", () => {
  const host = new TestHost(greeter);
  assert.deepEqual(host.hook("beforeTurn", { system: "Be brief." }), {
    system: "Be brief.\n\nGreet people by name.",
  });
});

test("people are greeted as the operator wishes, and counted", () => {
  const host = new TestHost(greeter, { settings: { greeting: "Ahoy" } });
  assert.deepEqual(host.callTool("greet", { name: "Ada" }), { text: "Ahoy, Ada!", times: 1 });
  assert.deepEqual(host.callTool("greet", { name: "Ada" }), { text: "Ahoy, Ada!", times: 2 });
  assert.deepEqual(host.storage, { "greeted/Ada": 2 });
});
