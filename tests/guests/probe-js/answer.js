/** From an answer in Think's form to the author's. What has the wrong type, or no place in the contract, is left out. */

const text = (value) => typeof value === "string";
const number = (value) => typeof value === "number";
const count = (value) => Number.isInteger(value) && value >= 0;
const flag = (value) => typeof value === "boolean";
const list = Array.isArray;
const texts = (value) => list(value) && value.every(text);
const object = (value) => typeof value === "object" && value !== null && !list(value);
const choice = (value) =>
  ["auto", "none", "required"].includes(value) || (value?.type === "tool" && text(value.toolName));

const STEP = { system: text, messages: list, activeTools: texts, toolChoice: choice, model: text };

const TURN = {
  ...STEP, maxSteps: count, sendReasoning: flag, maxOutputTokens: count, temperature: number, topP: number, topK: count,
  presencePenalty: number, frequencyPenalty: number, stopSequences: texts, seed: Number.isInteger, maxRetries: count,
  timeoutMs: count, headers: object, providerOptions: object,
};

function fitting(answer, checks, mayReset = false) {
  if (!object(answer)) return undefined;
  const fits = ([name, value]) => checks[name]?.(value) || (mayReset && value === null && name in checks);
  return Object.fromEntries(Object.entries(answer).filter(fits));
}

export function beforeTurn(answer) {
  if (!object(answer)) return undefined;
  const { timeout, ...rest } = answer;
  const timeoutMs = timeout?.totalMs ?? timeout;
  const headers = rest.headers && Object.fromEntries(Object.entries(rest.headers).filter(([, value]) => text(value)));
  return fitting({ ...rest, timeoutMs, headers }, TURN, true);
}

export const beforeStep = (answer) => fitting(answer, STEP);

export const beforeToolCall = (answer) =>
  ["allow", "block", "substitute"].includes(answer?.action) ? answer : undefined;

export const afterToolCall = (answer) => fitting(answer, { output: () => true, isError: flag, terminate: flag });
