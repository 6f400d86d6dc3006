/** A host for `node --test`. It checks no permissions, no limits and no schemas, and it starts no sandbox. */

import * as answer from "./answer.js";
import { connect } from "./bridge.js";
import { component, now } from "./component.js";
import { HOOKS } from "./words.js";
import * as utf8 from "./utf8.js";

const USAGE = {};

const SNAPSHOTS = {
  beforeTurn: {
    system: "", toolNames: [], messageCount: 1, maxSteps: 10, continuation: false,
    modelId: "test", requestId: "request", trigger: "programmatic",
  },
  beforeStep: {
    requestId: "request", stepNumber: 0, system: "", toolNames: [], messageCount: 1, modelId: "test", totalUsage: USAGE,
  },
  beforeToolCall: { toolCallId: "call", toolName: "tool", input: {}, stepNumber: 0, dynamic: false },
  afterToolCall: {
    toolCallId: "call", toolName: "tool", input: {}, stepNumber: 0, durationMs: 1, outcome: "executed",
    success: true, dynamic: false,
  },
  onStepFinish: {
    stepNumber: 0, finishReason: "stop", text: "", reasoningText: "", toolCallCount: 0, toolResultCount: 0, usage: USAGE,
  },
  onChatResponse: {
    requestId: "request", continuation: false, status: "completed", text: "", stepCount: 1, totalUsage: USAGE,
  },
  onChatError: { stage: "turn", message: "it failed", messagesPersisted: true },
};

const ANSWERS = {
  beforeTurn: answer.turnConfig,
  beforeStep: answer.stepConfig,
  beforeToolCall: answer.toolDecision,
  afterToolCall: answer.toolOverride,
};

/** A tool call that gave no output; `kind` is `unknown-tool`, `invalid-input` or `failed`. */
export class ToolError extends Error {
  name = "ToolError";

  constructor(kind, message) {
    super(message ?? "no such tool");
    this.kind = kind;
  }
}

export class TestHost {
  #extension;
  #exports;
  #storage = new Map();
  log = [];
  sent = [];

  constructor(extension, { settings = {}, storage = {}, context = {}, messages = [] } = {}) {
    this.#extension = extension;
    this.settings = settings;
    this.context = { ...context };
    this.messages = messages.map((message, index) => ({ id: `message-${index}`, ...message }));
    for (const [key, value] of Object.entries(storage)) this.#storage.set(key, utf8.encode(JSON.stringify(value)));
    this.#exports = component(extension, { name: "test", version: "0.0.0" }, this.#imports());
  }

  get storage() {
    const entries = [...this.#storage].map(([key, bytes]) => [key, JSON.parse(utf8.decode(bytes))]);
    return Object.fromEntries(entries);
  }

  get manifest() {
    return this.#exports.extensionManifest.describe();
  }

  hook(name, snapshot = {}) {
    if (!Object.hasOwn(HOOKS, name)) throw new TypeError(`there is no hook "${name}"`);
    connect(this.#imports());
    const shown = Array.isArray(snapshot) ? snapshot : { ...SNAPSHOTS[name], ...snapshot };
    const answered = now(this.#extension.hooks?.[name]?.(shown));
    // The real host would get it in this form, or the error.
    ANSWERS[name]?.(answered);
    return ANSWERS[name] ? answered : undefined;
  }

  callTool(name, input = {}, call = {}) {
    connect(this.#imports());
    const about = { toolCallId: "call", requestId: "request", stepNumber: 0, idempotencyKey: "key", ...call };
    try {
      return JSON.parse(this.#exports.tools.call(name, JSON.stringify(input), about));
    } catch ({ tag, val }) {
      throw new ToolError(tag, val);
    }
  }

  #imports() {
    const stored = this.#storage;
    const refuse = (tag, val) => {
      throw { tag, val };
    };
    return {
      log: { log: (level, message) => void this.log.push({ level, message }) },
      settings: { get: () => JSON.stringify(this.settings) },
      storage: {
        get: (key) => stored.get(key),
        set: (key, value) => {
          if (utf8.encode(key).length > 512) refuse("too-large", "a key has at most 512 bytes");
          stored.set(key, value);
        },
        delete: (key) => stored.delete(key),
        keys: (prefix) => [...stored.keys()].filter((key) => key.startsWith(prefix)).sort(),
        increment: (key, delta) => {
          const sum = Number(stored.has(key) ? utf8.decode(stored.get(key)) : 0) + delta;
          if (!Number.isSafeInteger(sum)) refuse("failed", `\`${key}\` holds no whole number`);
          stored.set(key, utf8.encode(String(sum)));
          return sum;
        },
      },
      context: {
        get: (label) => this.context[label],
        set: (label, text) => {
          if (!Object.hasOwn(this.context, label)) refuse("not-found", `no context block \`${label}\``);
          this.context[label] = text;
        },
      },
      messages: { recent: (limit) => (limit > 0 ? this.messages.slice(-limit) : []) },
      session: {
        info: () => ({ name: "test", messageCount: this.messages.length }),
        sendMessage: (text) => void this.sent.push(text),
      },
    };
  }
}
