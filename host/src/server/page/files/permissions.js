// What an extension asks for and what it is granted, one by one.

/** What each permission allows, for people. */
const MEANING = {
  decide: (value) => `its answers to ${value} count`,
  model: () => "choose another model",
  reasons: () => "tell the model in its own words why a call is blocked",
  workspace: (value) => `use a folder as /workspace (${value})`,
  network: (value) => `reach ${value} over the network`,
  environment: (value) => `read the variable ${value}`,
  "context-read": (value) => `read context blocks: ${value}`,
  "context-write": (value) => `write context blocks: ${value}`,
  messages: () => "read the conversation",
  "session-info": () => "read the session's name and number of messages",
  "send-message": () => "add user messages",
};

/**
 * Each permission that an extension asks for, or has: `[{name, value, text, meaning, asked, granted}]`. `text` is what is
 * typed after `lathe ext grant NAME`; `value` is null where there is none.
 */
export function permissions({ asked = {}, granted = {} }) {
  const wanted = flat(asked);
  const had = flat(granted);
  const texts = [...new Set([...wanted.keys(), ...had.keys()])];
  return texts.map((text) => {
    const { name, value } = wanted.get(text) ?? had.get(text);
    return {
      name,
      value,
      text,
      meaning: MEANING[name]?.(value) ?? name,
      asked: wanted.has(text),
      granted: had.has(text) || covered(name, value, granted),
    };
  });
}

function flat(fields) {
  const found = new Map();
  const add = (name, value) => found.set(value === null ? name : `${name}=${value}`, { name, value });
  for (const [name, value] of Object.entries(fields)) {
    // No permission, but how much an extension may store.
    if (name === "storage-bytes" || value === false) continue;
    if (value === true) add(name, null);
    else for (const one of [value].flat()) add(name, word(one));
  }
  return found;
}

function word(value) {
  if (typeof value === "string") return value;
  return value.host ?? value.access ?? JSON.stringify(value);
}

/** A wider grant holds a narrower wish: `*.example.org` for `api.example.org`, `all` and `own` for any label. */
function covered(name, value, granted) {
  const had = [granted[name] ?? []].flat().map(word);
  if (name === "network") {
    return had.some((host) => host === "*" || (host.startsWith("*.") && value.endsWith(host.slice(1))));
  }
  if (name === "workspace") return had.includes("read-write") && value === "read";
  // `own` is shown as the labels that it stands for.
  if (name === "context-read" || name === "context-write") return had.includes("all") || (value === "own" && had.length > 0);
  return false;
}
