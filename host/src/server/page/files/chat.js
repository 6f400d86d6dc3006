// One session's conversation: what it is now, and what can be done with it.

import { isTool, toolName } from "./chunks.js";
import { Frames } from "./frames.js";
import { Socket } from "./socket.js";

/** What a chat can be doing, in words for people. */
export const DOING = {
  connecting: "Connecting…",
  reconnecting: "Reconnecting…",
  ready: "Ready",
  waiting: "Waiting for the answer…",
  answering: "Answering…",
  lost: "The server has closed this session.",
};

/**
 * A conversation over `/agents/{agent}/{session}`. `changed()` is called after every change; `restore(text)` gets a
 * message that never arrived. Read `messages`, `doing`, `error`, `notice`, `recovering`.
 */
export class Chat {
  constructor(agent, session, { changed, restore }) {
    this.path = `/agents/${encodeURIComponent(agent)}/${encodeURIComponent(session)}`;
    this.session = session;
    this.changed = changed;
    this.restore = restore;
    this.messages = [];
    /** What the last turn failed with. */
    this.error = null;
    /** What else there is to say of it. */
    this.notice = null;
    this.recovering = false;
    /** The request that shows nothing yet: `{id, text, messageId}`. */
    this.asked = null;
    /** The server has said that something is about to begin. */
    this.pending = false;
    /** A stream runs whose beginning is being asked for. */
    this.joining = false;
    this.frames = new Frames(this);
    this.connection = "connecting";
    this.socket = new Socket(this.path, {
      opened: () => this.opened(),
      frame: (frame) => {
        this.frames.take(frame);
        this.changed();
      },
      closed: (final) => {
        this.connection = final ? "lost" : "reconnecting";
        this.frames.lost();
        this.changed();
      },
    });
  }

  opened() {
    this.pending = false;
    // Connecting tells of a stream that runs; only asking tells of one that has failed.
    this.socket.send({ type: "cf_agent_stream_resume_request", probeId: crypto.randomUUID() });
    this.changed();
  }

  /** In one word, one of `DOING`. */
  get doing() {
    if (this.connection !== "ready") return this.connection;
    if (this.frames.stream) return "answering";
    return this.asked || this.pending || this.joining ? "waiting" : "ready";
  }

  get busy() {
    return this.doing === "answering" || this.doing === "waiting";
  }

  /** Sends a message; false if it cannot be sent now. */
  send(text) {
    const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
    return this.request([...this.messages, message], "submit-message", { text, messageId: message.id });
  }

  /** Has the last message answered anew. */
  regenerate() {
    const last = this.messages.findLastIndex((message) => message.role === "user");
    return last >= 0 && this.request(this.messages.slice(0, last + 1), "regenerate-message", {});
  }

  request(messages, trigger, about) {
    if (this.doing !== "ready") return false;
    const id = crypto.randomUUID();
    const init = { method: "POST", body: JSON.stringify({ messages, trigger }) };
    if (!this.socket.send({ type: "cf_agent_use_chat_request", id, init })) return false;
    this.asked = { id, ...about };
    this.messages = messages;
    this.error = null;
    this.notice = null;
    this.changed();
    return true;
  }

  /** Stops the answer; false if there is none. */
  stop() {
    const id = this.frames.stream?.id ?? this.asked?.id ?? this.frames.pendingId;
    return Boolean(this.busy && id && this.socket.send({ type: "cf_agent_chat_request_cancel", id }));
  }

  /** Deletes the conversation. */
  clear() {
    if (!this.socket.send({ type: "cf_agent_chat_clear" })) return;
    this.emptied();
    this.changed();
  }

  emptied() {
    this.messages = [];
    this.error = null;
    this.notice = null;
    this.asked = null;
    this.frames.drop();
  }

  /** Answers whether a call may run. */
  approve(part, approved, reason) {
    const { toolCallId } = part;
    const frame = { type: "cf_agent_tool_approval", toolCallId, approved, autoContinue: true };
    if (reason) frame.reason = reason;
    if (!this.socket.send(frame)) return;
    part.state = approved ? "approval-responded" : "output-denied";
    part.approval = { ...part.approval, approved, ...(reason && { reason }) };
    this.changed();
  }

  /** Gives the result of a call that clients run: its output, or with `failed` the text of an error. */
  answer(part, output, failed) {
    const frame = { type: "cf_agent_tool_result", toolCallId: part.toolCallId, toolName: toolName(part), autoContinue: true };
    const result = failed ? { state: "output-error", errorText: output } : { state: "output-available", output };
    if (!this.socket.send({ ...frame, ...result })) return;
    Object.assign(part, result);
    this.changed();
  }

  /** Whether a call waits for a client's result: nobody else is at work on it. */
  awaits(message, part) {
    return !this.busy && isTool(part) && part.state === "input-available" && message === this.messages.at(-1);
  }

  close() {
    this.socket.close();
  }
}
