import { BridgeError, context, extension, InvalidInput, log, messages, session, settings, storage } from "./lathe/index.js";

const HOOKS = [
  "beforeTurn", "beforeStep", "beforeToolCall", "afterToolCall", "onStepFinish", "onChunk", "onChatResponse", "onChatError",
];

function mirror(hook) {
  return (shown) => {
    storage.set(hook, shown);
    const { fails, answers = {} } = settings();
    if (fails) throw new Error(fails);
    return answers[hook];
  };
}

export default extension({
  hooks: Object.fromEntries(HOOKS.map((hook) => [hook, mirror(hook)])),
  permissions: {
    decide: ["beforeStep", "beforeToolCall", "afterToolCall"], model: true, messages: true, sendMessage: true,
    sessionInfo: true, contextRead: ["notes"], contextWrite: ["notes"],
  },
  tools: {
    ask: {
      description: "Asks the host for everything",
      execute(input, { idempotencyKey }) {
        storage.setBytes("raw", Uint8Array.of(0, 255));
        log.warn("kept", { at: 1 });
        context.set("notes", `${context.get("notes")}!`);
        session.sendMessage("hello");
        let full;
        try {
          storage.set("full", "x".repeat(4000));
        } catch (error) {
          full = error instanceof BridgeError && error.code;
        }
        return {
          input, idempotencyKey, raw: [...storage.getBytes("raw")], none: storage.get("none") === undefined,
          gone: storage.delete("raw"), count: storage.increment("count", 2), keys: storage.keys("co"), full,
          last: messages.recent(1), session: session.info(),
        };
      },
    },
    refuse: {
      description: "Fails as it is told",
      execute({ how }) {
        throw how === "input" ? new InvalidInput("another") : new Error("it failed");
      },
    },
  },
});
