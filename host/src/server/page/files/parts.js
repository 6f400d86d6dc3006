// The parts of a message: text, reasoning, tool calls, and what a person is asked about them.

import { isTool, toolName } from "./chunks.js";
import { box, fill, h, say, set } from "./dom.js";
import { show } from "./markdown.js";

const STATES = {
  "input-streaming": "being written",
  "input-available": "running",
  "approval-requested": "waits for your approval",
  "approval-responded": "approved",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "rejected",
};

/** The parts of a message that are shown, each as `{key, part}`. */
export function shown(message) {
  const parts = message.parts.map((part, index) => ({ key: isTool(part) ? part.toolCallId : `${index} ${part.type}`, part }));
  return parts.filter(({ part }) => isTool(part) || part.type === "text" || part.type === "reasoning" || part.url || part.data !== undefined);
}

/** The element for a part; `update` fills it. */
export function make({ part }) {
  if (isTool(part)) return card();
  if (part.type === "reasoning") {
    return h("details", { class: "reasoning" }, h("summary", {}, "Reasoning"), h("div", { class: "prose" }));
  }
  return h("div", { class: part.type === "text" ? "prose" : "attachment" });
}

/** Shows a part as it is now. `chat` is asked what a person may do with a call. */
export function update(element, part, message, chat) {
  if (isTool(part)) {
    fillCard(element, part, message, chat);
  } else if (part.type === "reasoning") {
    say(element.firstChild, part.state === "streaming" ? "Reasoning…" : "Reasoning");
    show(element.lastChild, part.text);
  } else if (part.type === "text") {
    // What a person has typed is shown as it was typed.
    if (message.role === "user") say(element, part.text);
    else show(element, part.text);
  } else if (!element.hasChildNodes()) {
    fill(element, attachment(part));
  }
}

function attachment(part) {
  if (part.data !== undefined) return [h("span", { class: "muted" }, part.type), box(part.data, part.type)];
  const name = part.title || part.filename || part.mediaType || part.url;
  if (!/^https?:/i.test(part.url)) return h("span", { class: "muted" }, `File: ${part.mediaType ?? "unknown"}`);
  return h("a", { href: part.url, target: "_blank", rel: "noopener noreferrer" }, name);
}

function card() {
  return h("details", { class: "tool" },
    h("summary", {}, h("code", { class: "name" }), h("span", { class: "brief muted" }), h("span", { class: "state" })),
    h("div", { class: "values" }),
    h("div", { class: "question" }));
}

function fillCard(element, part, message, chat) {
  const waits = chat.awaits(message, part);
  const asks = part.state === "approval-requested";
  const kind = waits ? "client" : part.state;
  const signature = JSON.stringify([kind, part.input, part.inputText, part.output, part.errorText, part.approval, part.preliminary]);
  if (element.signature === signature) return;
  element.signature = signature;
  element.dataset.state = part.state;
  const [summary, values, question] = element.children;
  const [name, brief, state] = summary.children;
  say(name, toolName(part));
  say(brief, short(part.input ?? part.inputText));
  say(state, waits ? "waits for a result" : part.preliminary ? "running" : (STATES[part.state] ?? part.state));
  const rows = [["Input", part.input ?? part.inputText], ["Output", part.output], ["Error", part.errorText], ["Reason", part.approval?.reason]];
  fill(values, rows.filter(([, value]) => value !== undefined && value !== null).map(([label, value]) => [
    h("div", { class: "label" }, label),
    box(value, `${label} of ${toolName(part)}`),
  ]));
  if (question.dataset.kind !== kind) {
    question.dataset.kind = kind;
    fill(question, asks ? approval(part, chat) : waits ? answer(part, chat) : null);
    // A person is needed: what it is about is to be seen.
    if (asks || waits) element.open = true;
  }
}

function short(input) {
  if (input === undefined || input === null) return "";
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return text === "{}" ? "" : text.slice(0, 200);
}

function approval(part, chat) {
  const reason = h("input", { type: "text", maxlength: 500, placeholder: "Reason, if you reject it", "aria-label": "Reason for a rejection" });
  const tool = toolName(part);
  return h("form", { class: "ask", onsubmit: (event) => event.preventDefault() },
    h("p", {}, "May ", h("code", {}, tool), " run with this input?"),
    h("div", { class: "row" },
      h("button", { type: "button", class: "primary", onclick: () => chat.approve(part, true) }, "Approve"),
      h("button", { type: "button", onclick: () => chat.approve(part, false, reason.value.trim()) }, "Reject"),
      reason));
}

function answer(part, chat) {
  const value = h("textarea", { rows: 3, spellcheck: "false", "aria-label": `Result of ${toolName(part)}, as JSON` }, "{}");
  const wrong = h("p", { class: "bad", role: "alert" });
  const send = () => {
    try {
      chat.answer(part, JSON.parse(value.value), false);
    } catch (error) {
      say(wrong, `This is no JSON: ${error.message}`);
      set(value, "aria-invalid", true);
      value.focus();
    }
  };
  return h("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); send(); } },
    h("p", {}, "A client is to run this tool. Its result, as JSON:"),
    value, wrong,
    h("div", { class: "row" },
      h("button", { class: "primary" }, "Send result"),
      h("button", { type: "button", onclick: () => chat.answer(part, value.value, true) }, "Send as an error")));
}
