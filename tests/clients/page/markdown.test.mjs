import assert from "node:assert/strict";
import { test } from "node:test";

import { parse, spans } from "../../../host/src/server/page/files/markdown.js";

const kinds = (text) => parse(text).map((block) => block.kind);

test("blocks", () => {
  const text = "# Title\n\nOne\ntwo\n- a\n- b\n  more\n\n1. x\n2. y\n\n> said\n\n---\n```js\nlet a = 1;\n\n# no title\n```\nend";
  const blocks = parse(text);
  assert.deepEqual(blocks.map((block) => block.kind), ["heading", "paragraph", "list", "list", "quote", "rule", "code", "paragraph"]);
  assert.equal(blocks[1].text, "One\ntwo");
  assert.deepEqual(blocks[2].items.map((item) => item.text), ["a", "b\nmore"]);
  assert.equal(blocks[3].ordered, true);
  assert.deepEqual([blocks[6].language, blocks[6].text], ["js", "let a = 1;\n\n# no title"]);
});

test("lists within lists, and a list that begins elsewhere", () => {
  const [list] = parse("3. a\n   - b\n   - c\n4. d");
  assert.deepEqual([list.first, list.items.length], [3, 2]);
  assert.deepEqual(list.items[0].lists[0].items.map((item) => item.text), ["b", "c"]);
  const [back, after] = parse("- a\n  - b\n- c\n\nend");
  assert.deepEqual(back.items.map((item) => item.text), ["a", "c"]);
  assert.equal(after.kind, "paragraph");
});

test("a text that still grows is read at every length, and earlier blocks stay as they are", () => {
  const text = "Intro **bold** `x`\n\n- one\n  - two\n\n```sh\nls -l\n```\n\n| no | table |\n\nEnd *of* it";
  for (let end = 0; end <= text.length; end += 1) parse(text.slice(0, end));
  assert.deepEqual(kinds("```\nopen"), ["code"]);
  const before = parse("One\n\nTwo");
  const after = parse("One\n\nTwo and\n\nthree");
  assert.equal(before[0].source, after[0].source);
  assert.notEqual(before[1].source, after[1].source);
});

test("what stands in a line", () => {
  assert.deepEqual(spans("a **b `c`** *d* 2*3*4 ** e"), [
    "a ", { strong: ["b ", { code: "c" }] }, " ", { em: ["d"] }, " 2*3*4 ** e",
  ]);
  assert.deepEqual(spans("``a ` b``"), [{ code: "a ` b" }]);
  assert.deepEqual(spans("snake_case_name and 5 * 6 * 7"), ["snake_case_name and 5 * 6 * 7"]);
});

test("links lead to pages and to nothing else", () => {
  assert.deepEqual(spans("see [it](https://a.example/x) or https://b.example/y."), [
    "see ", { link: "it", href: "https://a.example/x" }, " or ", { link: "https://b.example/y", href: "https://b.example/y" }, ".",
  ]);
  for (const target of ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "/page/app.js"]) {
    assert.deepEqual(spans(`[x](${target})`).join(""), `[x](${target})`);
  }
});

test("markup of a page is text", () => {
  const text = "<img src=x onerror=alert(1)> <script>alert(1)</script>";
  assert.deepEqual(parse(text).map((block) => spans(block.text)), [[text]]);
});

test("a long text without an end takes no unreasonable time", () => {
  const long = "*a **b `c [d](e ".repeat(2000);
  assert.ok(spans(long).length > 0);
});
