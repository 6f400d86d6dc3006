// The page of `lathe serve` in a browser. The server runs already, with the example extensions and the demo model.
//
//   LATHE_URL=http://127.0.0.1:8787 LATHE_SLOW_URL=http://127.0.0.1:8788 node page.mjs
//
// LATHE_SLOW_URL is a server whose model takes some seconds for an answer, LATHE_CHROMIUM the browser (/usr/bin/chromium), SHOTS a
// folder for pictures.

import assert from "node:assert/strict";
import { join } from "node:path";

import { chromium } from "playwright-core";

const { LATHE_URL: url, LATHE_SLOW_URL: slow } = process.env;
assert.ok(url && slow, "LATHE_URL and LATHE_SLOW_URL are to say where the servers are");
const QUESTION = "What is 21 * 2, and what time is it in Tokyo?";

const browser = await chromium.launch({
  executablePath: process.env.LATHE_CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});

const complaints = [];
let failures = 0;

async function open(where, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error.stack)));
  await page.goto(where);
  return page;
}

async function test(name, run) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`not ok ${name}\n${String(error.stack).replace(/^/gm, "  # ")}`);
    await shot(page, `failed-${name.replaceAll(" ", "-")}`);
  }
}

async function shot(of, name) {
  if (process.env.SHOTS) await of.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

const session = () => `page-${crypto.randomUUID().slice(0, 8)}`;
const status = (of, text) => of.locator("#status").filter({ hasText: text }).waitFor();
const last = (of) => of.locator(".message[data-role=assistant]").last();
const cards = (of) => last(of).locator(".tool .name").allTextContents();
const called = (of) => of.locator("#timeline .event[data-kind=tool]").evaluateAll((rows) => rows.map((row) => row.dataset.name));

async function ask(of, text) {
  const before = await of.locator(".message[data-role=assistant]").count();
  await of.locator("#prompt").fill(text);
  await of.locator("#prompt").press("Enter");
  await of.locator(".message[data-role=assistant]").nth(before).waitFor();
  await status(of, "Ready");
  await of.locator(".turn-end[data-status=completed]").waitFor();
}

const focused = (of) => of.evaluate(() => document.activeElement.id || document.activeElement.textContent);

/** Goes on by Tab until the element of that id has the focus. */
async function tabTo(of, id) {
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await focused(of)) === id) return;
    await of.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to #${id}`);
}

async function clock(of, enabled) {
  await of.locator("#tab-extensions").click();
  const card = of.locator(".extension[data-name=clock]");
  await card.getByRole("switch").click();
  await of.locator(`.extension[data-name=clock][data-health=${enabled ? "ready" : "disabled"}]`).waitFor();
  await of.locator("#tab-inspector").click();
}

const page = await open(`${url}/#/s/${session()}`);

await test("a question is answered, with the calls of its tools", async () => {
  await status(page, "Ready");
  await ask(page, QUESTION);
  assert.deepEqual(await cards(page), ["calc_evaluate", "clock_now"]);
  assert.match(await last(page).textContent(), /"result":"42"/);
  await last(page).locator(".tool summary").first().click();
  assert.match(await last(page).locator(".tool .values").first().textContent(), /21 \* 2/);
  await shot(page, "chat");
});

await test("the inspector shows what each extension did", async () => {
  assert.deepEqual((await called(page)).sort(), ["calc_evaluate", "clock_now"]);
  const before = page.locator("#timeline .event[data-kind=hook][data-name=house-rules]");
  assert.match(await before.first().textContent(), /beforeTurn.*sets system.*fuel.* ms/);
  await before.first().locator("summary").click();
  assert.match(await before.first().locator(".box").textContent(), /"type": "hook-call"/);
  assert.match(await page.locator(".turn-end").textContent(), /completed.*2 steps.*tokens/);
  await page.locator("#summary [data-extension=meter]").waitFor();
});

await test("one sees which extension changed the system prompt", async () => {
  const system = page.locator("#fields dt[data-field=system] + dd");
  assert.equal(await system.getAttribute("data-extension"), "house-rules");
  assert.equal(await system.getAttribute("data-counts"), "true");
  assert.match(await system.textContent(), /House rules:/);
});

await test("an extension's log of the turn is there", async () => {
  const meter = page.locator("#summary [data-extension=meter]");
  await meter.locator("summary").click();
  await meter.locator(".lines li, .log .muted").filter({ hasNotText: "…" }).first().waitFor();
  await meter.locator("summary").click();
});

await test("a disabled extension is gone from the next turn, and back when it is enabled", async () => {
  await clock(page, false);
  await ask(page, QUESTION);
  assert.deepEqual(await called(page), ["calc_evaluate"]);
  assert.deepEqual(await cards(page), ["calc_evaluate"]);
  await clock(page, true);
  await ask(page, QUESTION);
  assert.deepEqual((await called(page)).sort(), ["calc_evaluate", "clock_now"]);
});

await test("an earlier turn is shown again by its message", async () => {
  await page.locator(".message[data-role=assistant]").nth(1).getByText("Inspect turn").click();
  await page.locator("#newest").waitFor();
  await page.waitForFunction(() => document.querySelectorAll("#timeline .event[data-kind=tool]").length === 1);
  await page.locator("#newest").click();
});

await test("sessions are begun, filtered and opened again", async () => {
  const first = await page.locator("#session-name").textContent();
  await page.locator("#new-session").click();
  await page.locator("#no-turn").waitFor();
  assert.equal(await page.locator(".message").count(), 0);
  assert.notEqual(await page.locator("#session-name").textContent(), first);
  await page.locator("#filter").fill(first);
  assert.deepEqual(await page.locator(".session .name").allTextContents(), [first]);
  await page.locator(".session").click();
  await page.locator(".message").nth(5).waitFor();
  assert.ok(page.url().endsWith(`#/s/${first}`));
  await page.locator("#timeline .event").first().waitFor();
});

await test("everything works by keyboard", async () => {
  const own = await open(`${url}/#/s/${session()}`);
  await status(own, "Ready");
  // From the beginning of the page: it has put the focus on the prompt.
  await own.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
  });
  await own.keyboard.press("Tab");
  assert.equal(await focused(own), "skip");
  await tabTo(own, "tab-inspector");
  await own.keyboard.press("ArrowRight");
  assert.equal(await focused(own), "tab-extensions");
  assert.ok(await own.locator("#extensions").isVisible());
  await own.keyboard.press("ArrowRight");
  assert.equal(await focused(own), "tab-inspector");
  await tabTo(own, "prompt");
  await own.keyboard.type("What is 6 * 7?");
  await own.keyboard.press("Shift+Enter");
  await own.keyboard.press("Enter");
  await last(own).waitFor();
  await status(own, "Ready");
  assert.match(await last(own).textContent(), /42/);
  assert.equal(await own.locator("#prompt").inputValue(), "");
  await own.evaluate(() => document.activeElement.blur());
  await own.keyboard.press("?");
  await own.locator("#help[open]").waitFor();
  await own.keyboard.press("Escape");
  await own.locator("#help[open]").waitFor({ state: "detached" });
  await own.keyboard.press("/");
  assert.equal(await focused(own), "prompt");
  await own.context().close();
});

await test("Escape stops an answer", async () => {
  const own = await open(`${slow}/#/s/${session()}`);
  await status(own, "Ready");
  await own.locator("#prompt").fill("Count slowly");
  await own.keyboard.press("Enter");
  await last(own).locator(".parts > .prose").first().waitFor();
  await own.keyboard.press("Escape");
  await own.locator(".notice").filter({ hasText: "Stopped." }).waitFor();
  await status(own, "Ready");
  await own.context().close();
});

await test("a page that is loaded again in mid-answer shows all of it, once", async () => {
  const own = await open(`${slow}/#/s/${session()}`);
  await status(own, "Ready");
  await own.locator("#prompt").fill("What is 21 * 2? Count slowly");
  await own.keyboard.press("Enter");
  await last(own).locator(".parts > .prose").first().waitFor();
  await own.reload();
  await status(own, "Answering");
  await last(own).waitFor();
  await status(own, "Ready");
  assert.equal(await own.locator(".message").count(), 2);
  const [stored, shown] = await own.evaluate(async () => {
    const name = location.hash.slice("#/s/".length);
    const messages = await (await fetch(`/agents/lathe/${name}/get-messages`)).json();
    // Markdown's marks are not shown as they are written.
    const words = (text) => text.replace(/[^\p{L}\p{N}]+/gu, "");
    const texts = messages[1].parts.filter((part) => part.type === "text").map((part) => words(part.text));
    const prose = [...document.querySelectorAll(".message[data-role=assistant] .parts > .prose")];
    return [texts, prose.map((node) => words(node.textContent))];
  });
  assert.deepEqual(shown, stored);
  await own.context().close();
});

await test("a phone shows one panel at a time, and nothing is wider than it", async () => {
  const phone = await open(`${url}/#/s/${session()}`, { viewport: { width: 375, height: 812 } });
  await status(phone, "Ready");
  await ask(phone, `${QUESTION} ${"x".repeat(200)}`).catch(async () => status(phone, "Ready"));
  const panels = ["sessions", "chat", "inspector", "extensions"];
  for (const panel of panels) {
    await phone.locator(`#tab-${panel}`).click();
    for (const other of panels) assert.equal(await phone.locator(`#${other}`).isVisible(), other === panel, other);
    for (const width of [375, 360]) {
      await phone.setViewportSize({ width, height: 812 });
      const wider = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wider <= 0, `${panel} is ${wider} px wider than ${width}`);
      const cut = await phone.evaluate((id) => [...document.querySelectorAll(`#${id} .scroll, #${id}.scroll`)].filter((node) => node.scrollWidth > node.clientWidth).length, panel);
      assert.equal(cut, 0, `something in ${panel} is cut off at ${width} px`);
    }
    await shot(phone, `phone-${panel}`);
  }
  await phone.context().close();
});

await test("the browser has nothing to complain about", async () => {
  assert.deepEqual(complaints, []);
});

await browser.close();
process.exit(failures ? 1 : 0);
