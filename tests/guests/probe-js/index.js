/**
 * The guest `probe` once more, in JavaScript: what it is and does stands in its plan, which the harness writes into the
 * file; what it was shown it leaves in its storage.
 */

import { HOOKS } from "./lathe/words.js";
import { storage } from "./lathe/index.js";
import * as answer from "./answer.js";
import { plan } from "./plan.js";

const of = (names, make) => Object.fromEntries(names.map((name) => [name, make(name)]));

/** Known only when the plan is: nothing here may be read before it is asked for. */
export default {
  get name() {
    return plan().name;
  },
  get version() {
    return plan().version ?? "1.0.0";
  },
  get description() {
    return plan().description ?? plan().name;
  },
  get hooks() {
    const names = Object.keys(HOOKS).filter((name) => Object.hasOwn(plan().hooks ?? {}, name));
    return of(names, (name) => (shown) => play(name, shown));
  },
  get tools() {
    return of(Object.keys(plan().tools ?? {}), (name) => definition(name, plan().tools[name]));
  },
};

function definition(name, tool) {
  return {
    description: tool.description ?? name,
    inputSchema: { type: "object", properties: tool.parameters ?? {}, required: tool.required ?? [] },
    needsApproval: tool.needsApproval ?? false,
    execute(input) {
      if (typeof tool.throw === "string") throw new Error(tool.throw);
      return tool.echo === true ? input : tool.result;
    },
  };
}

/** Notes what the hook is shown, then does what the plan says. */
function play(hook, shown) {
  note(hook, shown);
  let behaviour = plan().hooks[hook];
  if (Array.isArray(behaviour)) {
    // One entry a call, the last repeats. An instance lives for a turn, so the count is kept outside.
    const call = storage.increment(`calls/${hook}`) - 1;
    behaviour = behaviour[Math.min(call, behaviour.length - 1)];
  }
  if (typeof behaviour?.throw === "string") throw new Error(behaviour.throw);
  let answered = behaviour?.return;
  if (typeof behaviour?.appendSystem === "string") {
    answered = { ...(typeof answered === "object" ? answered : {}), system: shown.system + behaviour.appendSystem };
  }
  return answer[hook]?.(answered);
}

/** In Think's fields: what it leaves undefined is left out. */
function note(hook, shown) {
  const snapshot = Array.isArray(shown) ? shown : { ...shown };
  if (snapshot.dynamic === false) delete snapshot.dynamic;
  if (snapshot.reasoningText === "") delete snapshot.reasoningText;
  storage.set(`note/${String(storage.increment("noted")).padStart(8, "0")}`, { hook, snapshot });
}
