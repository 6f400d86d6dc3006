/** From an extension to the exports of a component. */

import * as answer from "./answer.js";
import { connect, log } from "./bridge.js";
import { InvalidInput } from "./index.js";
import { manifest } from "./manifest.js";
import * as snapshot from "./snapshot.js";

/**
 * The exports of the contract, for an extension and the imports that serve it. `about` is what the extension's
 * package.json says, for what it does not say itself.
 */
export function component(extension, about, imports) {
  if (typeof extension !== "object") throw new TypeError("the main file has no `export default extension({ … })`");
  connect(imports);
  // The engine has none.
  globalThis.console ??= { ...log, log: log.info };
  const hook = (name, shown, answered) => (given) => {
    try {
      return answered(now(extension.hooks?.[name]?.(shown(given))));
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
    hooks: {
      beforeTurn: hook("beforeTurn", snapshot.turn, answer.turnConfig),
      beforeStep: hook("beforeStep", snapshot.step, answer.stepConfig),
      beforeToolCall: hook("beforeToolCall", snapshot.toolCall, answer.toolDecision),
      afterToolCall: hook("afterToolCall", snapshot.toolResult, answer.toolOverride),
      onStepFinish: hook("onStepFinish", snapshot.stepFinish, answer.nothing),
      onChunk: hook("onChunk", snapshot.chunks, answer.nothing),
      onChatResponse: hook("onChatResponse", snapshot.chatResponse, answer.nothing),
      onChatError: hook("onChatError", snapshot.plain, answer.nothing),
    },
  };
}

/** The engine runs a call to its end and waits for nothing, and nothing that an extension can ask for is asynchronous. */
export function now(value) {
  if (value instanceof Promise) throw new TypeError("it answers with a promise, for which the sandbox cannot wait");
  return value;
}

/** Anything can be thrown. */
function text(error) {
  return error instanceof Error ? error.message || error.name : String(error);
}
