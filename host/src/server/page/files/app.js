// Puts the page together.

import { call, onUnauthorized } from "./api.js";
import { Chat, DOING } from "./chat.js";
import { confirm, prompt } from "./dialog.js";
import { h, say, set, throttled } from "./dom.js";
import { Extensions } from "./extensions.js";
import { Inspector } from "./inspector.js";
import { bind } from "./keys.js";
import { fresh, Sessions } from "./sessions.js";
import { Tabs } from "./tabs.js";
import { Transcript } from "./transcript.js";

const LAST = "lathe.session";
const THEMES = ["", "light", "dark"];

const find = (id) => document.getElementById(id);
const input = find("prompt");
const help = find("help");

let about;
let chat = null;
let before = null;

onUnauthorized((refused) =>
  prompt("This server asks for a token",
    h("p", {}, refused ? "The token was not accepted. Another one?" : "It is kept until this tab is closed."),
    "Token", { type: "password", action: "Continue" }));

const tabs = new Tabs(find("tabs"));
const sessions = new Sessions(find("sessions"), open);
const extensions = new Extensions(find("extensions"), announce);
const transcript = new Transcript(find("transcript"), inspect);
const inspector = new Inspector(find("inspector"), { picked: (messageId) => transcript.mark(messageId), event: noticed });

/** Says something to who does not see the page. */
function announce(text) {
  say(find("live"), text);
}

/** Goes to a session; the address says which. */
function open(name) {
  tabs.select("chat");
  const hash = `#/s/${encodeURIComponent(name)}`;
  if (location.hash === hash) input.focus();
  else location.hash = hash;
}

function named() {
  const found = /^#\/s\/(.+)$/.exec(location.hash);
  try {
    return found && decodeURIComponent(found[1]);
  } catch {
    return null;
  }
}

function enter() {
  const name = named();
  if (!name) {
    history.replaceState(null, "", `#/s/${encodeURIComponent(localStorage.getItem(LAST) ?? fresh())}`);
    enter();
    return;
  }
  if (chat?.session === name) return;
  localStorage.setItem(LAST, name);
  chat?.close();
  before = null;
  chat = new Chat(about.agent ?? "lathe", name, { changed: draw, restore: (text) => (input.value ||= text) });
  transcript.begin(chat);
  inspector.begin(name);
  sessions.select(name);
  say(find("session-name"), name);
  document.title = `${name} – Lathe`;
  draw();
  transcript.end();
}

const draw = throttled(() => {
  transcript.draw();
  const { doing } = chat;
  find("send").hidden = chat.busy;
  find("send").disabled = doing !== "ready";
  find("stop").hidden = !chat.busy;
  find("clear").disabled = chat.messages.length === 0;
  find("regenerate").disabled = chat.busy || !chat.messages.some((message) => message.role === "user");
  const words = chat.recovering ? "Taking up an answer that was cut off…" : DOING[doing];
  say(find("status"), words);
  set(find("status"), "data-doing", chat.recovering ? "recovering" : doing);
  if (doing !== before) told(doing);
});

/** What a screen reader says: that something begins and ends, not each word of it. */
function told(doing) {
  if (doing === "ready" && (before === "answering" || before === "waiting")) {
    announce(chat.error ? "The turn failed." : (chat.notice ?? "The answer is complete."));
    sessions.refresh();
  } else if (doing === "reconnecting" || doing === "lost" || (doing === "ready" && before === "reconnecting")) {
    announce(doing === "ready" ? "Connected again." : DOING[doing]);
  } else if (doing === "answering" || doing === "waiting") {
    announce(DOING[doing]);
  }
  before = doing;
}

/** What extensions cost and how they are changes in turns. */
function noticed(event) {
  const over = event.type === "turn-ended" && Date.now() - event.at < 10_000;
  if (over || event.event?.type === "extension-health") refresh();
}

const refresh = throttled(() => extensions.refresh());

function inspect(message) {
  tabs.select("inspector");
  if (!inspector.show(message.id)) announce("The events of this turn are not kept any more.");
}

function send() {
  const text = input.value.trim();
  if (!text || !chat?.send(text)) return;
  input.value = "";
  inspector.follow();
  transcript.end();
}

find("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
input.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
find("stop").addEventListener("click", () => {
  chat.stop();
  input.focus();
});
find("regenerate").addEventListener("click", () => chat.regenerate() && inspector.follow());
find("clear").addEventListener("click", async () => {
  const what = h("p", {}, "All messages of ", h("b", {}, chat.session), " are deleted.");
  if (await confirm("Clear this conversation?", what, "Clear", true)) chat.clear();
});
find("help-button").addEventListener("click", () => help.showModal());
find("close-help").addEventListener("click", () => help.close());
find("skip").addEventListener("click", (event) => {
  event.preventDefault();
  focusPrompt();
});

function focusPrompt() {
  tabs.select("chat");
  input.focus();
}

bind({ focus: focusPrompt, stop: () => chat?.stop() ?? false, help: () => help.showModal() });

const theme = find("theme");
function drawTheme() {
  say(find("theme-name"), `Theme: ${document.documentElement.dataset.theme || "system"}`);
}
theme.addEventListener("click", () => {
  const now = document.documentElement.dataset.theme ?? "";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  document.documentElement.dataset.theme = next;
  localStorage.setItem("lathe.theme", next);
  drawTheme();
});
drawTheme();

async function start() {
  try {
    about = await call("GET", "/api/about");
  } catch (error) {
    say(find("status"), `${error.message} Trying again…`);
    setTimeout(start, 3000);
    return;
  }
  extensions.operator = about.operator;
  say(find("model"), about.model);
  say(find("version"), `Lathe ${about.version}`);
  window.addEventListener("hashchange", enter);
  enter();
  input.focus();
  sessions.refresh();
  extensions.refresh();
}

start();
