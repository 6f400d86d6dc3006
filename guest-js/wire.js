/** Between the contract's values and their JSON form, in which the sandbox speaks. */

/** Fields that hold a word of the contract, or several. */
const WORDS = [
  "trigger", "outcome", "finishReason", "type", "status", "stage", "classification", "workspace", "decide",
];

/** `before-turn` as `BeforeTurn`. */
export function word(text) {
  return text.split("-").map((part) => part[0].toUpperCase() + part.slice(1)).join("");
}

const kebab = (text) => text.replace(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
/** One name is a word of Rust too. */
const snake = (text) => (text === "type" ? "type_" : text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
const camel = (text) => text.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** A snapshot, or what an extension asks for. */
export function encode(value) {
  if (Array.isArray(value)) return value.map(encode);
  if (typeof value !== "object" || value === null) return value;
  if ("tag" in value) return { [word(value.tag)]: encode(value.val) };
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [snake(name), encoded(name, field)]));
}

function encoded(name, field) {
  if (!WORDS.includes(name) || field === undefined || field === null) return encode(field);
  return Array.isArray(field) ? field.map(word) : word(field);
}

/** `"Auto"` as `{ tag: "auto" }`, `{ Tool: "x" }` as `{ tag: "tool", val: "x" }`. */
export function variant(value) {
  if (typeof value === "string") return { tag: kebab(value) };
  const [[name, val]] = Object.entries(value);
  return { tag: kebab(name), val: val ?? undefined };
}

const record = (value) =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [camel(name), name === "tool_choice" ? variant(field) : field]),
  );

const ANSWERS = { beforeTurn: record, beforeStep: record, beforeToolCall: variant, afterToolCall: record };

/** What a hook has answered. */
export function decode(hook, value) {
  return value === null ? undefined : ANSWERS[hook](value);
}
