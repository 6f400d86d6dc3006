/**
 * A host for `node --test`. The extension runs in the test's own process, without permissions, limits and schemas; with
 * `lathe test --sandbox` its component runs in the sandbox instead.
 */

import { connect } from "./bridge.js";
import { component, fire } from "./component.js";
import * as contract from "./contract.js";
import { sandbox } from "./sandbox.js";
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
  #sandbox = sandbox();
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
    // The host calls no other.
    if (!this.#extension.hooks?.[name]) return undefined;
    const shown = contract.snapshot(name, Array.isArray(snapshot) ? snapshot : { ...SNAPSHOTS[name], ...snapshot });
    if (this.#sandbox) return contract.answer(name, this.#sandbox.hook(this.#held(), name, shown));
    connect(this.#imports());
    return contract.answer(name, fire(this.#extension, name, shown));
  }

  callTool(name, input = {}, call = {}) {
    const about = { toolCallId: "call", requestId: "request", stepNumber: 0, idempotencyKey: "key", ...call };
    const text = JSON.stringify(input);
    try {
      if (this.#sandbox) return JSON.parse(this.#sandbox.tool(this.#held(), name, text, about));
      connect(this.#imports());
      return JSON.parse(this.#exports.tools.call(name, text, about));
    } catch (error) {
      if (error instanceof Error) throw error;
      throw new ToolError(error.tag, error.val);
    }
  }

  /** What the sandbox needs of it. */
  #held() {
    const { settings, log, manifest } = this;
    return { host: this, name: this.#extension.name, settings, log, permissions: manifest.permissions, imports: this.#imports() };
  }

  #imports() {
    const stored = this.#storage;
    const refuse = (tag, val) => {
      throw { tag, val };
    };
    /** In the sandbox there is a limit to all keys and values together. */
    const store = (key, value, limit = Infinity) => {
      const size = (key, value) => utf8.encode(key).length + value.length;
      const others = [...stored].filter(([other]) => other !== key);
      if (others.reduce((sum, entry) => sum + size(...entry), size(key, value)) > limit) {
        refuse("too-large", `keys and values may have ${limit} bytes together`);
      }
      stored.set(key, value);
    };
    return {
      log: { log: (level, message) => void this.log.push({ level, message }) },
      settings: { get: () => JSON.stringify(this.settings) },
      storage: {
        get: (key) => stored.get(key),
        set: (key, value, limit) => {
          if (utf8.encode(key).length > 512) refuse("too-large", "a key has at most 512 bytes");
          store(key, value, limit);
        },
        delete: (key) => stored.delete(key),
        keys: (prefix) => [...stored.keys()].filter((key) => key.startsWith(prefix)).sort(),
        increment: (key, delta, limit) => {
          const sum = Number(stored.has(key) ? utf8.decode(stored.get(key)) : 0) + delta;
          if (!Number.isSafeInteger(sum)) refuse("failed", `\`${key}\` holds no whole number`);
          store(key, utf8.encode(String(sum)), limit);
          return sum;
        },
      },
      context: {
        get: (label) => this.context[label],
        set: (label, text, create = false) => {
          if (!create && !Object.hasOwn(this.context, label)) refuse("not-found", `no context block \`${label}\``);
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
