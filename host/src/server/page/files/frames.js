// What the server says of a conversation (`cf_agent_*` frames).

import { call } from "./api.js";
import { Answer, isTool } from "./chunks.js";

const OUTCOMES = {
  aborted: "Stopped.",
  skipped: "This message was not answered: another one has taken its place.",
  recovering: "The answer was cut off. It is taken up again.",
};

/** Takes frames into a chat. */
export class Frames {
  constructor(chat) {
    this.chat = chat;
    /** The stream that runs: `{id, answer, base, next, continuation, later}`. */
    this.stream = null;
    /** The stream that was asked for on this connection. */
    this.acknowledged = null;
    this.pendingId = null;
  }

  take(frame) {
    const { chat } = this;
    switch (frame.type) {
      case "cf_agent_chat_messages":
        return this.transcript(frame);
      case "cf_agent_message_updated":
        return this.updated(frame.message);
      // The last of the greeting: what there is to know is known.
      case "cf_agent_identity":
        chat.connection = "ready";
        return undefined;
      case "cf_agent_chat_clear":
        return chat.emptied();
      case "cf_agent_chat_recovering":
        chat.recovering = frame.recovering;
        return undefined;
      case "cf_agent_stream_pending":
        chat.pending = true;
        this.pendingId = frame.id ?? null;
        return undefined;
      case "cf_agent_stream_resume_none":
        if (frame.reason !== "continuation-owned") chat.pending = false;
        return undefined;
      case "cf_agent_stream_resuming":
        return this.resume(frame.id);
      case "cf_agent_use_chat_response":
        return this.response(frame);
      default:
        return undefined;
    }
  }

  /** The connection is gone: what was shown stays until the server says what became of it. */
  lost() {
    this.drop();
    this.acknowledged = null;
  }

  drop() {
    this.stream = null;
    this.chat.pending = false;
    this.pendingId = null;
  }

  /** The whole conversation. While a stream runs its own message is the newer one. */
  transcript({ messages, connect }) {
    const { chat, stream } = this;
    if (connect && chat.asked && !chat.pending) {
      const { text, messageId } = chat.asked;
      // It was sent as the connection broke, and has not arrived.
      if (text && !messages.some((message) => message.id === messageId)) chat.restore(text);
      chat.asked = null;
    }
    if (!stream?.answer) {
      chat.messages = messages;
      return;
    }
    const own = stream.answer.message;
    stream.later = messages;
    const at = messages.findIndex((message) => message.id === own.id);
    chat.messages = at < 0 ? [...messages, own] : messages.with(at, own);
  }

  updated(message) {
    const { chat, stream } = this;
    const at = chat.messages.findIndex((other) => other.id === message.id);
    if (at < 0) return;
    const own = stream?.answer?.message;
    if (own?.id !== message.id) {
      chat.messages = chat.messages.with(at, message);
      return;
    }
    // The stream goes on in it, so only the calls that somebody has answered are taken over.
    for (const part of message.parts.filter(isTool)) {
      const shown = own.parts.find((other) => other.toolCallId === part.toolCallId);
      if (shown) Object.assign(shown, part);
    }
  }

  /** A stream runs, or has failed, which the server shows to who says that they want it. */
  async resume(id) {
    if (this.acknowledged === id) return;
    this.acknowledged = id;
    const { chat } = this;
    const { socket } = chat.socket;
    chat.joining = true;
    try {
      // Who comes into a stream is not told what was said before it.
      if (!this.stream) {
        const messages = await call("GET", `${chat.path}/get-messages`);
        this.transcript({ messages, connect: chat.asked?.id !== id });
      }
    } catch (error) {
      chat.notice = error.message;
    }
    chat.joining = false;
    if (socket === chat.socket.socket) {
      chat.pending = true;
      chat.socket.send({ type: "cf_agent_stream_resume_ack", id });
    }
    chat.changed();
  }

  response(frame) {
    const { chat } = this;
    if (frame.error) {
      chat.error = frame.body;
    } else if (frame.body) {
      this.chunk(frame);
    }
    if (frame.done) this.done(frame);
  }

  chunk(frame) {
    if (this.stream?.id !== frame.id) this.begin(frame);
    const { stream } = this;
    if (frame.replay && frame.seq === 0) this.rewind();
    // Told twice: once again in a replay, and as it came.
    if (frame.seq !== undefined && frame.seq < stream.next) return;
    stream.next = (frame.seq ?? stream.next) + 1;
    const chunk = JSON.parse(frame.body);
    stream.answer ??= new Answer(this.message(chunk, frame));
    stream.answer.apply(chunk);
  }

  begin({ id, continuation }) {
    const { chat } = this;
    this.stream = { id, continuation, answer: null, base: null, next: 0, later: null };
    chat.pending = false;
    chat.error = null;
    chat.notice = null;
    if (chat.asked?.id === id) chat.asked = null;
  }

  /** Everything comes once more, from the beginning. */
  rewind() {
    const { stream } = this;
    stream.next = 0;
    if (!stream.answer) return;
    const { message } = stream.answer;
    message.parts = structuredClone(stream.base);
    stream.answer = new Answer(message);
  }

  /** The message that a stream writes: the last one if it goes on from it, else one of its own. */
  message(chunk, frame) {
    const { chat, stream } = this;
    const last = chat.messages.at(-1);
    const goesOn = stream.continuation && last?.role === "assistant";
    const id = chunk.messageId ?? frame.id;
    const message = goesOn ? structuredClone(last) : { id, role: "assistant", parts: [] };
    stream.base = structuredClone(message.parts);
    const at = chat.messages.findIndex((other) => other.id === message.id);
    chat.messages = at < 0 ? [...chat.messages, message] : chat.messages.with(at, message);
    return message;
  }

  done({ id, outcome }) {
    const { chat, stream } = this;
    if (chat.asked?.id === id) chat.asked = null;
    // Another one's turn that has shown nothing.
    if (stream && stream.id !== id) return;
    if (stream?.later) chat.messages = stream.later;
    this.drop();
    if (outcome && !chat.error) chat.notice = OUTCOMES[outcome] ?? null;
  }
}
