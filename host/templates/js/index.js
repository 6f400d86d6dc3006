import { extension, settings, storage } from "./lathe/index.js";

export default extension({
  // What the operator may write under [extension.NAME.settings] in lathe.toml.
  settingsSchema: {
    type: "object",
    properties: { greeting: { type: "string", default: "Hello" } },
    additionalProperties: false,
  },

  hooks: {
    beforeTurn: (turn) => ({ system: `${turn.system}\n\nGreet people by name.` }),
  },

  tools: {
    greet: {
      description: "Greets a person.",
      inputSchema: {
        type: "object",
        properties: { name: { type: "string", description: "Whom to greet" } },
        required: ["name"],
      },
      execute({ name }) {
        const { greeting = "Hello" } = settings();
        return { text: `${greeting}, ${name}!`, times: storage.increment(`greeted/${name}`) };
      },
    },
  },
});
