/** The hooks, in the words of the contract. */
export const HOOKS = {
  beforeTurn: "before-turn",
  beforeStep: "before-step",
  beforeToolCall: "before-tool-call",
  afterToolCall: "after-tool-call",
  onStepFinish: "on-step-finish",
  onChunk: "on-chunk",
  onChatResponse: "on-chat-response",
  onChatError: "on-chat-error",
};
