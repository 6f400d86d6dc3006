/** What an extension asks of the host. */

import * as utf8 from "./utf8.js";

let host;

/** Says who answers from now on: the imports of the component, or the host of a test. */
export function connect(imports) {
  host = imports;
}

/** Why the host did not do what was asked: `code` is `denied`, `not-found`, `too-large`, `unavailable` or `failed`. */
export class BridgeError extends Error {
  name = "BridgeError";

  constructor(code, text) {
    super(`${code.replace("-", " ")}: ${text}`);
    this.code = code;
  }
}

/** The error of a `result` import arrives as its payload, or wrapped in an error that has one. */
function ask(call) {
  if (!host) throw new Error("there is no host: in a test, make a TestHost first");
  try {
    return call(host);
  } catch (error) {
    const { tag, val } = error?.payload ?? error ?? {};
    if (tag === undefined) throw error;
    throw new BridgeError(tag, val);
  }
}

function record(level) {
  return (...parts) => {
    const message = parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ");
    ask((host) => host.log.log(level, message));
  };
}

export const log = {
  trace: record("trace"),
  debug: record("debug"),
  info: record("info"),
  warn: record("warn"),
  error: record("error"),
};

export const settings = () => JSON.parse(ask((host) => host.settings.get()));

export const storage = {
  get(key) {
    const bytes = storage.getBytes(key);
    return bytes && JSON.parse(utf8.decode(bytes));
  },
  set: (key, value) => storage.setBytes(key, utf8.encode(JSON.stringify(value))),
  getBytes: (key) => ask((host) => host.storage.get(key)) ?? undefined,
  setBytes: (key, bytes) => ask((host) => host.storage.set(key, bytes)),
  delete: (key) => ask((host) => host.storage.delete(key)),
  keys: (prefix = "") => ask((host) => host.storage.keys(prefix)),
  increment: (key, delta = 1) => Number(ask((host) => host.storage.increment(key, delta))),
};

export const context = {
  get: (label) => ask((host) => host.context.get(label)) ?? undefined,
  set: (label, text) => ask((host) => host.context.set(label, text)),
};

export const messages = {
  recent: (limit) => ask((host) => host.messages.recent(limit)),
};

export const session = {
  info: () => ask((host) => host.session.info()),
  sendMessage: (text) => ask((host) => host.session.sendMessage(text)),
};
