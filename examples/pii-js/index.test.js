import assert from "node:assert/strict";
import { test } from "node:test";

import pii from "./index.js";
import { TestHost } from "./lathe/testing.js";
import { KINDS, mask } from "./pii.js";

const all = Object.keys(KINDS);

test("every kind is found, in whatever it is written", () => {
  for (const [text, expected] of [
    ["mail ada.l+x@mail.example.org now", "mail [email] now"],
    ["jörg@exämple.de", "[email]"],
    ["4111 1111 1111 1111, 5500-0000-0000-0004", "[card], [card]"],
    ["pay DE89 3704 0044 0532 0130 00 or GB82WEST12345698765432", "pay [iban] or [iban]"],
    ["call +49 30 901820 or +1 (212) 555-0123", "call [phone] or [phone]"],
  ]) {
    assert.equal(mask(text, all).value, expected);
  }
});

test("what only looks like one is left alone", () => {
  for (const text of ["4111 1111 1111 1112", "GB82WEST12345698765433", "2026-11-21 12:00", "a@b", "1.5e+10", "x+12345678"]) {
    assert.deepEqual(mask(text, all), { value: text, found: {} });
  }
});

test("results are masked wherever the text stands, and counted", () => {
  const host = new TestHost(pii);
  const output = { rows: [{ to: "a@x.org", n: 1 }, { to: "b@x.org", card: "4111111111111111" }], none: null };
  assert.deepEqual(host.hook("afterToolCall", { output }), {
    output: { rows: [{ to: "[email]", n: 1 }, { to: "[email]", card: "[card]" }], none: null },
  });
  assert.deepEqual(host.callTool("masked"), { card: 1, email: 2 });
});

test("nothing found changes nothing, nor does a failed call", () => {
  const host = new TestHost(pii);
  assert.equal(host.hook("afterToolCall", { output: "all is well" }), undefined);
  const error = { name: "Error", message: "a@x.org" };
  assert.equal(host.hook("afterToolCall", { success: false, error }), undefined);
  assert.deepEqual(host.storage, {});
});

test("the operator chooses what is masked", () => {
  const host = new TestHost(pii, { settings: { kinds: ["card"] } });
  assert.deepEqual(host.hook("afterToolCall", { output: "a@x.org 4111111111111111" }), { output: "a@x.org [card]" });
});

test("it asks for what it needs", () => {
  const { hooks, permissions, tools } = new TestHost(pii).manifest;
  assert.deepEqual([hooks, permissions.decide], [["after-tool-call"], ["after-tool-call"]]);
  assert.deepEqual(tools.map((tool) => tool.name), ["masked"]);
});
