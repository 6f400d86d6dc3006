import { extension, settings, storage } from "./lathe/index.js";
import { KINDS, mask } from "./pii.js";

/** All kinds, unless the operator has chosen. */
const chosen = () => settings().kinds ?? Object.keys(KINDS);

export default extension({
  permissions: { decide: ["afterToolCall"] },

  settingsSchema: {
    type: "object",
    properties: {
      kinds: {
        description: "What to mask; all of it by default",
        type: "array",
        items: { enum: Object.keys(KINDS) },
      },
    },
    additionalProperties: false,
  },

  hooks: {
    afterToolCall(call) {
      if (!call.success) return;
      const { value, found } = mask(call.output, chosen());
      for (const [kind, count] of Object.entries(found)) storage.increment(`masked/${kind}`, count);
      if (Object.keys(found).length > 0) return { output: value };
    },
  },

  tools: {
    masked: {
      description: "How many personal details were masked in tool results so far, by kind.",
      replay: "safe",
      execute: () =>
        Object.fromEntries(storage.keys("masked/").map((key) => [key.slice("masked/".length), storage.get(key)])),
    },
  },
});
