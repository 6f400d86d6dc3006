/**
 * Write extensions for Lathe in JavaScript.
 *
 * ```js
 * import { extension, storage } from "lathe-guest";
 *
 * export default extension({
 *   name: "dice",
 *   description: "Rolls dice and knows how often",
 *   hooks: {
 *     beforeTurn: (turn) => ({ system: `${turn.system}\n\nDice have six sides.` }),
 *   },
 *   tools: {
 *     rolls: {
 *       description: "How often dice were rolled.",
 *       inputSchema: { type: "object", properties: { plus: { type: "integer" } } },
 *       execute: ({ plus = 0 }) => storage.increment("rolls", 0) + plus,
 *     },
 *   },
 * });
 * ```
 *
 * The types, with what each field means, are in `index.d.ts`. Nothing here needs the sandbox: under Node, the same code
 * runs against the host of `testing.js`.
 */

export { BridgeError, context, log, messages, session, settings, storage } from "./bridge.js";

import { HOOKS } from "./words.js";

const PARTS = [
  "name", "version", "description", "hooks", "tools", "permissions", "context", "settingsSchema",
];

/** The model should write another input: what a tool throws if its input does not fit, though it passed the schema. */
export class InvalidInput extends Error {
  name = "InvalidInput";
}

/** Checks what an extension is made of, and returns it. */
export function extension(definition) {
  known(definition, PARTS, "an extension");
  known(definition.hooks, Object.keys(HOOKS), "the hooks");
  for (const [name, hook] of Object.entries(definition.hooks ?? {})) {
    if (typeof hook !== "function") throw new TypeError(`the hook ${name} is no function`);
    synchronous(hook, `the hook ${name}`);
  }
  for (const [name, tool] of Object.entries(definition.tools ?? {})) {
    if (typeof tool?.execute !== "function") throw new TypeError(`the tool ${name} has no execute function`);
    if (typeof tool.description !== "string") throw new TypeError(`the tool ${name} has no description`);
    synchronous(tool.execute, `the tool ${name}`);
  }
  return definition;
}

function synchronous(run, what) {
  if (run.constructor.name === "AsyncFunction") {
    throw new TypeError(`${what} is async, but the sandbox cannot wait; everything in it answers at once, so leave the word out`);
  }
}

/** A misspelt hook would never be called, and nobody would know why. */
function known(value, names, what) {
  for (const name of Object.keys(value ?? {})) {
    if (!names.includes(name)) throw new TypeError(`there is no "${name}" in ${what}; known are ${names.join(", ")}`);
  }
}
