/** From an extension to the exports of a component. */

import * as answer from "./answer.js";
import { connect, log } from "./bridge.js";
import { InvalidInput } from "./index.js";
import { manifest } from "./manifest.js";
import * as snapshot from "./snapshot.js";

/** How each hook is shown the contract's snapshot, and how its answer becomes the contract's. */
const HOOKS = {
  beforeTurn: [snapshot.turn, answer.turnConfig],
  beforeStep: [snapshot.step, answer.stepConfig],
  beforeToolCall: [snapshot.toolCall, answer.toolDecision],
  afterToolCall: [snapshot.toolResult, answer.toolOverride],
  onStepFinish: [snapshot.stepFinish, answer.nothing],
  onChunk: [snapshot.chunks, answer.nothing],
  onChatResponse: [snapshot.chatResponse, answer.nothing],
  onChatError: [snapshot.plain, answer.nothing],
};

/**
 * The exports of the contract, for an extension and the imports that serve it. `about` is what the extension's
 * package.json says, for what it does not say itself.
 */
export function component(extension, about, imports) {
  if (typeof extension !== "object") throw new TypeError("the main file has no `export default extension({ … })`");
  connect(imports);
  // The engine has none.
  globalThis.console ??= { ...log, log: log.info };
  const hook = (name) => (given) => {
    try {
      return fire(extension, name, given);
    } catch (error) {
      throw text(error);
    }
  };
  return {
    extensionManifest: { describe: () => manifest(extension, about) },
    tools: {
      call(name, input, context) {
        const tools = extension.tools ?? {};
        if (!Object.hasOwn(tools, name)) throw { tag: "unknown-tool" };
        try {
          return JSON.stringify(now(tools[name].execute(JSON.parse(input), context)) ?? null);
        } catch (error) {
          throw { tag: error instanceof InvalidInput ? "invalid-input" : "failed", val: text(error) };
        }
      },
    },
    hooks: Object.fromEntries(Object.keys(HOOKS).map((name) => [name, hook(name)])),
  };
}

/** Calls a hook, both ways in the contract's form. */
export function fire(extension, name, given) {
  const [shown, answered] = HOOKS[name];
  return answered(now(extension.hooks?.[name]?.(shown(given))));
}

/** The engine runs a call to its end and waits for nothing, and nothing that an extension can ask for is asynchronous. */
function now(value) {
  if (value instanceof Promise) throw new TypeError("it answers with a promise, for which the sandbox cannot wait");
  return value;
}

/** Anything can be thrown. */
function text(error) {
  return error instanceof Error ? error.message || error.name : String(error);
}
