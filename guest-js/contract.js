/** For the host of a test: to the contract's snapshots and from its answers, the other way round than snapshot.js and answer.js. */

const json = (value) => JSON.stringify(value ?? null);
const optional = (value) => (value === undefined || value === null ? undefined : JSON.stringify(value));

const SNAPSHOTS = {
  beforeTurn: (turn) => ({ ...turn, body: optional(turn.body) }),
  beforeToolCall: (call) => ({ ...call, input: json(call.input) }),
  afterToolCall: ({ success, output, error, ...call }) => ({
    ...call, input: json(call.input), result: success ? { tag: "ok", val: json(output) } : { tag: "err", val: error },
  }),
  onStepFinish: (step) => ({ ...step, providerMetadata: optional(step.providerMetadata) }),
};

const ANSWERS = {
  beforeTurn: config,
  beforeStep: config,
  beforeToolCall: decision,
  afterToolCall: parsed,
};

export function snapshot(hook, shown) {
  return SNAPSHOTS[hook]?.(shown) ?? shown;
}

/** What a hook answers, as its author writes it. */
export function answer(hook, answered) {
  return answered === undefined ? undefined : ANSWERS[hook]?.(answered);
}

/** What is undefined is left out, what is JSON text is a value. */
function parsed(fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const texts = ["messages", "providerOptions", "output"];
  return Object.fromEntries(given.map(([name, value]) => [name, texts.includes(name) ? JSON.parse(value) : value]));
}

function config({ headers = [], reset = [], toolChoice, ...fields }) {
  const config = parsed(fields);
  if (toolChoice) config.toolChoice = toolChoice.tag === "tool" ? { type: "tool", toolName: toolChoice.val } : toolChoice.tag;
  if (headers.length > 0) config.headers = Object.fromEntries(headers);
  for (const name of reset) config[name] = null;
  return config;
}

function decision({ tag, val }) {
  if (val === undefined) return { action: tag };
  if (tag === "block") return { action: tag, reason: val };
  return { action: tag, [tag === "allow" ? "input" : "output"]: JSON.parse(val) };
}
