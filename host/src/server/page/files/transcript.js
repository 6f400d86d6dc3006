// The conversation as it is read.

import { fill, h, keyed, say, set } from "./dom.js";
import * as parts from "./parts.js";

/** How near to the end one must be to be taken along with it, in pixels. */
const NEAR = 80;

/** Shows a chat's messages in an element that scrolls. `inspect(message)` is called when one is picked. */
export class Transcript {
  constructor(element, inspect) {
    this.element = element;
    this.inspect = inspect;
    this.list = h("ol", { class: "messages" });
    this.empty = h("div", { class: "empty" },
      h("p", { class: "big" }, "Ask something."),
      h("p", { class: "muted" }, "The inspector shows, step by step, what each extension did with the turn."));
    this.trouble = h("div", { class: "trouble", role: "alert" });
    this.notice = h("p", { class: "notice muted" });
    this.again = h("button", { type: "button" }, "Try again");
    for (const part of [this.empty, this.trouble, this.notice]) part.hidden = true;
    fill(element, this.empty, this.list, this.trouble, this.notice);
  }

  /** Begins with another session. */
  begin(chat) {
    this.chat = chat;
    this.again.onclick = () => chat.regenerate();
    keyed(this.list, [], (message) => message.id, () => null);
  }

  draw() {
    const { chat, element } = this;
    const follow = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    this.empty.hidden = chat.messages.length > 0 || chat.doing === "connecting";
    keyed(this.list, chat.messages, (message) => message.id, () => this.message(), (node, message) => this.update(node, message));
    this.trouble.hidden = !chat.error;
    if (chat.error && this.trouble.dataset.error !== chat.error) {
      fill(this.trouble, h("p", {}, h("strong", {}, "The turn failed. "), chat.error), this.again);
    }
    set(this.trouble, "data-error", chat.error ?? null);
    this.notice.hidden = !chat.notice;
    say(this.notice, chat.notice ?? "");
    if (follow) element.scrollTop = element.scrollHeight;
  }

  message() {
    const button = h("button", { type: "button", class: "quiet inspect", title: "Show this turn in the inspector" }, "Inspect turn");
    const node = h("li", { class: "message" },
      h("div", { class: "who" }, h("span", { class: "author" }), button),
      h("div", { class: "parts" }));
    const pick = () => this.inspect(node.message);
    button.addEventListener("click", pick);
    node.addEventListener("click", (event) => {
      const used = event.target.closest("button, a, summary, input, textarea, pre") || !getSelection().isCollapsed;
      if (!used && node.message.role === "assistant") pick();
    });
    return node;
  }

  update(node, message) {
    node.message = message;
    node.dataset.role = message.role;
    set(node, "data-picked", message.id === this.picked);
    const [who, list] = node.children;
    say(who.firstChild, message.role === "user" ? "You" : message.role === "assistant" ? "Assistant" : message.role);
    who.lastChild.hidden = message.role !== "assistant";
    keyed(list, parts.shown(message), ({ key }) => key, parts.make, (element, { part }) => {
      parts.update(element, part, message, this.chat);
    });
  }

  /** Marks the message whose turn the inspector shows. */
  mark(messageId) {
    this.picked = messageId;
    for (const node of this.list.children) set(node, "data-picked", node.message?.id === messageId);
  }

  end() {
    this.element.scrollTop = this.element.scrollHeight;
  }
}
