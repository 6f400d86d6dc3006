/** From what a hook answers to the contract's form. What has the wrong type is an error of the hook, with the field's name. */

const is = (test, what) => (value, name) => {
  if (!test(value)) throw new TypeError(`${name} is not ${what}`);
  return value;
};

const text = is((value) => typeof value === "string", "text");
const flag = is((value) => typeof value === "boolean", "true or false");
const number = is(Number.isFinite, "a number");
const whole = is(Number.isSafeInteger, "a whole number");
const count = is((value) => Number.isSafeInteger(value) && value >= 0 && value < 2 ** 32, "a whole number of at least 0");
const list = is(Array.isArray, "a list");
const object = is((value) => typeof value === "object" && value !== null && !Array.isArray(value), "an object");
const texts = (value, name) => list(value, name).map((entry) => text(entry, `an entry of ${name}`));
const json = (check) => (value, name) => JSON.stringify(check(value, name));
const any = (value) => JSON.stringify(value ?? null);

function headers(value, name) {
  return Object.entries(object(value, name)).map(([header, content]) => [header, text(content, `${name}.${header}`)]);
}

/** `"auto"`, `"none"`, `"required"` or `{ type: "tool", toolName }`, as in the AI SDK. */
function toolChoice(value, name) {
  if (["auto", "none", "required"].includes(value)) return { tag: value };
  if (value?.type === "tool") return { tag: "tool", val: text(value.toolName, `${name}.toolName`) };
  throw new TypeError(`${name} is not "auto", "none", "required" or { type: "tool", toolName }`);
}

const STEP = {
  system: text,
  messages: json(list),
  activeTools: texts,
  toolChoice,
  model: text,
};

const TURN = {
  ...STEP,
  maxSteps: count,
  sendReasoning: flag,
  maxOutputTokens: count,
  temperature: number,
  topP: number,
  topK: count,
  presencePenalty: number,
  frequencyPenalty: number,
  stopSequences: texts,
  seed: whole,
  maxRetries: count,
  timeoutMs: count,
  headers,
  providerOptions: json(object),
};

const OVERRIDE = { output: any, isError: flag, terminate: flag };

/** What a hook leaves undefined stays as it is. */
function fields(answer, checks) {
  const given = Object.entries(object(answer, "the answer")).filter(([, value]) => value !== undefined);
  return given.map(([name, value]) => {
    if (!Object.hasOwn(checks, name)) {
      throw new TypeError(`there is no "${name}" in an answer; known are ${Object.keys(checks).join(", ")}`);
    }
    return [name, value, checks[name]];
  });
}

/** Null puts a field back to the host's default. */
export function turnConfig(answer) {
  if (answer === undefined || answer === null) return undefined;
  const config = { headers: [], reset: [] };
  for (const [name, value, check] of fields(answer, TURN)) {
    if (value === null) config.reset.push(name);
    else config[name] = check(value, name);
  }
  return config;
}

export function stepConfig(answer) {
  return answer === undefined || answer === null ? undefined : checked(answer, STEP);
}

export function toolOverride(answer) {
  return answer === undefined || answer === null ? undefined : checked(answer, OVERRIDE);
}

function checked(answer, checks) {
  return Object.fromEntries(fields(answer, checks).map(([name, value, check]) => [name, check(value, name)]));
}

export function toolDecision(answer) {
  if (answer === undefined || answer === null) return undefined;
  switch (answer.action) {
    case "allow":
      return { tag: "allow", val: answer.input === undefined ? undefined : any(answer.input) };
    case "block":
      return { tag: "block", val: answer.reason === undefined ? undefined : text(answer.reason, "reason") };
    case "substitute":
      return { tag: "substitute", val: any(answer.output) };
    default:
      throw new TypeError('action is not "allow", "block" or "substitute"');
  }
}

export function nothing() {}
