import type {
  ChatError, ChatResponse, Chunk, Extension, Json, StepConfig, StepFinish, StepSnapshot, ToolCall, ToolDecision,
  ToolOverride, ToolResult, TurnConfig, TurnSnapshot,
} from "./index.js";

/** What a host of a test holds. */
export interface Held {
  settings?: { [key: string]: Json };
  /** JSON values by key. */
  storage?: { [key: string]: Json };
  /** Texts by label. */
  context?: { [label: string]: string };
  messages?: { role: string; content: string }[];
}

/** A tool call that gave no output. */
export class ToolError extends Error {
  kind: "unknown-tool" | "invalid-input" | "failed";
}

/**
 * A host for `node --test`, which runs the extension in the test's own process. It checks no permissions, no limits and no
 * schemas.
 *
 * With `lathe test --sandbox` the same tests run the extension's component in the host's sandbox, with everything granted that
 * it asks for; what is held stays here. A call that breaks a limit fails the test there, and so do settings that do not fit. One
 * host at a time has a turn: a call by another one ends it.
 */
export class TestHost {
  constructor(extension: Extension, held?: Held);

  settings: { [key: string]: Json };
  context: { [label: string]: string };
  /** What the extension stored, JSON values by key. */
  readonly storage: { [key: string]: Json };
  /** The log so far. */
  log: { level: string; message: string }[];
  /** What it added to the conversation. */
  sent: string[];
  /** What it tells the host about itself, in the words of the contract. */
  readonly manifest: any;

  /**
   * Fires a hook; what the snapshot leaves out has a plain value. The answer is checked as the real host does, and what the
   * hook leaves undefined is left out of it. In the sandbox, `beforeTurn` begins a turn with a new instance.
   */
  hook(name: "beforeTurn", snapshot?: Partial<TurnSnapshot>): TurnConfig | undefined;
  hook(name: "beforeStep", snapshot?: Partial<StepSnapshot>): StepConfig | undefined;
  hook(name: "beforeToolCall", snapshot?: Partial<ToolCall>): ToolDecision | undefined;
  hook(name: "afterToolCall", snapshot?: Partial<ToolResult>): ToolOverride | undefined;
  hook(name: "onStepFinish", snapshot?: Partial<StepFinish>): undefined;
  hook(name: "onChunk", chunks: Chunk[]): undefined;
  hook(name: "onChatResponse", snapshot?: Partial<ChatResponse>): undefined;
  hook(name: "onChatError", snapshot?: Partial<ChatError>): undefined;

  /** Calls a tool with JSON both ways. Throws a `ToolError`. */
  callTool(name: string, input?: Json, call?: Partial<import("./index.js").CallContext>): any;
}
