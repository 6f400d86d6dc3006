/**
 * The real sandbox behind a test's host: a process of the `lathe` binary that runs the built component.
 *
 * It does what the host does around a guest: rights, limits, fuel, deadlines. What lies behind the guest's imports stays with
 * the test, which the process asks for it. Both speak JSON, one message a line. Tests are not asynchronous, so another thread
 * holds the process, and this one waits for it.
 */

import { basename } from "node:path";
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

import { decode, encode, variant, word } from "./wire.js";
import { HOOKS } from "./words.js";

const ASKED = {
  "storage-get": ({ storage }, { key }) => {
    const bytes = storage.get(key);
    return bytes && [...bytes];
  },
  "storage-set": ({ storage }, { key, value, limit }) => storage.set(key, Uint8Array.from(value), limit),
  "storage-delete": ({ storage }, { key }) => storage.delete(key),
  "storage-keys": ({ storage }, { prefix }) => storage.keys(prefix),
  "storage-increment": ({ storage }, { key, delta, limit }) => storage.increment(key, delta, limit),
  "context-get": ({ context }, { label }) => context.get(label),
  "context-set": ({ context }, { label, text, create }) => context.set(label, text, create),
  messages: ({ messages }, { limit }) => messages.recent(limit),
  "message-count": ({ session }) => session.info().messageCount,
  "send-message": ({ session }, { text }) => session.sendMessage(text),
};

let shared;

/** The sandbox of this process, if the environment names one: that is how `lathe test --sandbox` runs the same tests. */
export function sandbox() {
  const { LATHE_SANDBOX, LATHE_SANDBOX_FILE } = process.env;
  if (LATHE_SANDBOX && LATHE_SANDBOX_FILE) shared ??= new Sandbox(LATHE_SANDBOX, LATHE_SANDBOX_FILE);
  return shared;
}

class Sandbox {
  #file;
  #port;
  #signal = new Int32Array(new SharedArrayBuffer(4));
  #host;
  #loaded;

  constructor(lathe, file) {
    this.#file = file;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData = { lathe, port: port2, signal: this.#signal };
    // Tests end when they have ended, and the process ends with its input.
    new Worker(new URL("./worker.js", import.meta.url), { workerData, transferList: [port2] }).unref();
  }

  /** Calls a hook with the contract's snapshot, and returns the contract's answer. */
  hook(held, hook, snapshot) {
    const order = { hook: { hook: word(HOOKS[hook]), snapshot: encode(snapshot) } };
    const { Ok, Err } = this.#call(held, order, `hook ${hook}`);
    if (Err !== undefined) throw new Error(Err);
    return decode(hook, Ok);
  }

  /** Calls a tool with JSON text both ways. An error is thrown as the contract's. */
  tool(held, name, input, context) {
    const { Ok, Err } = this.#call(held, { tool: { name, input, context: encode(context) } }, `tool "${name}"`);
    if (Err !== undefined) throw variant(Err);
    return Ok;
  }

  /** Loads the component, unless it is loaded for this host as it is now. Returns its name. */
  #load({ host, name = basename(this.#file, ".wasm"), settings, permissions }) {
    const load = { file: this.#file, name, settings, granted: encode(permissions), workspace: null };
    const order = JSON.stringify({ load });
    if (this.#host === host && this.#loaded === order) return name;
    this.#loaded = undefined;
    this.#port.postMessage(order);
    const { refused } = this.#report();
    if (refused !== undefined) throw new Error(`the host does not load the extension "${name}": ${refused}`);
    [this.#host, this.#loaded] = [host, order];
    return name;
  }

  /** Sends an order, and serves the guest until it has answered. */
  #call(held, order, what) {
    const name = this.#load(held);
    const { log, imports } = held;
    const before = log.length;
    this.#port.postMessage(JSON.stringify(order));
    for (;;) {
      const { called, ask, answer, failed } = this.#report();
      if (answer) return answer;
      if (called?.function === "log.log") log.push({ level: called.arguments[0], message: called.arguments[1] });
      if (ask) this.#port.postMessage(JSON.stringify(served(imports, ask)));
      if (failed) {
        const said = log.slice(before).map(({ level, message }) => `\n  log ${level}: ${message}`);
        const where = failed.backtrace.map((name) => `\n  at ${name}`);
        throw new Error(`the extension "${name}" failed in its ${what}: ${failed.error}${[...said, ...where].join("")}`);
      }
    }
  }

  #report() {
    for (;;) {
      const seen = Atomics.load(this.#signal, 0);
      const { line, gone } = receiveMessageOnPort(this.#port)?.message ?? {};
      if (gone !== undefined) throw new Error(`the sandbox is gone: ${gone}`);
      if (line !== undefined) return JSON.parse(line);
      Atomics.wait(this.#signal, 0, seen);
    }
  }
}

function served(imports, ask) {
  const [[name, about]] = typeof ask === "string" ? [[ask, {}]] : Object.entries(ask);
  try {
    if (!Object.hasOwn(ASKED, name)) throw { tag: "failed", val: `a test has nothing for ${name}` };
    return { Ok: ASKED[name](imports, about) ?? null };
  } catch ({ tag, val, message }) {
    return { Err: { [word(tag ?? "failed")]: val ?? message } };
  }
}
