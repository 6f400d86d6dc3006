/** From the contract's snapshots to what a hook is shown: what is JSON text there is a value here, what is absent is left out. */

function compact(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

function parsed(text) {
  return text === undefined || text === null ? undefined : JSON.parse(text);
}

/** Numbers of 64 bits may come as bigint; tokens do not reach 2^53. */
function usage(usage) {
  return Object.fromEntries(Object.entries(compact(usage)).map(([name, value]) => [name, Number(value)]));
}

export const plain = compact;

export const chunks = (chunks) => chunks.map(compact);

export function turn(turn) {
  return compact({ ...turn, body: parsed(turn.body) });
}

export function step(step) {
  return { ...step, totalUsage: usage(step.totalUsage) };
}

export function toolCall(call) {
  return { ...call, input: JSON.parse(call.input) };
}

export function toolResult({ result, ...call }) {
  const outcome =
    result.tag === "ok" ? { success: true, output: JSON.parse(result.val) } : { success: false, error: result.val };
  return { ...call, input: JSON.parse(call.input), ...outcome };
}

export function stepFinish(step) {
  return compact({ ...step, usage: usage(step.usage), providerMetadata: parsed(step.providerMetadata) });
}

export function chatResponse(response) {
  return compact({ ...response, totalUsage: usage(response.totalUsage) });
}
