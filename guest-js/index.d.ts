/** A value with a JSON form. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON Schema. */
export type Schema = { [key: string]: unknown };

type Answer<T> = T | null | undefined | void;

/**
 * What an extension is, asks for and offers. All of it is optional but for a description.
 *
 * The host makes an instance per turn for all the hooks and a fresh one per tool call: what should outlive an instance
 * goes to `storage`. The top level of a module runs once, when the component is built.
 *
 * Nothing is asynchronous: the engine runs a call to its end, and hooks and tools answer with values, not promises.
 */
export interface Extension {
  /** Of `a-z`, `0-9` and `-`. Default: the name in package.json. */
  name?: string;
  /** Default: the version in package.json. */
  version?: string;
  /** One sentence for people. Default: the description in package.json. */
  description?: string;
  /** The host calls the hooks that are here and no other. */
  hooks?: Hooks;
  /** By name: `a-z`, `A-Z`, `0-9`, `_` and `-`. The model sees them as `<extension>_<tool>`. */
  tools?: { [name: string]: Tool<any> };
  /** What it asks the operator for. */
  permissions?: Permissions;
  /** Context blocks of its own, offered as `<extension>_<label>`. */
  context?: { label: string; description?: string; maxTokens?: number }[];
  /** What `settings()` should return; the host checks what the operator wrote against it. */
  settingsSchema?: Schema;
}

/**
 * The stages of a turn. An error that a hook throws changes nothing in the turn, and the operator sees its text; where
 * a hook was granted the right to decide, it blocks what the hook was asked about.
 */
export interface Hooks {
  /** Before the first model request. The one hook whose answer always counts. */
  beforeTurn?(turn: TurnSnapshot): Answer<TurnConfig>;
  /** Before each model request. The answer counts with the grant `decide`. */
  beforeStep?(step: StepSnapshot): Answer<StepConfig>;
  /** Before a tool runs. The answer counts with the grant `decide`. */
  beforeToolCall?(call: ToolCall): Answer<ToolDecision>;
  /** After a tool call has its result. The answer counts with the grant `decide`. */
  afterToolCall?(call: ToolResult): Answer<ToolOverride>;
  /** After each step, with its tool results known. */
  onStepFinish?(step: StepFinish): Answer<never>;
  /** The stream as it goes by: what has gathered since the last call. Who is too slow misses chunks. */
  onChunk?(chunks: Chunk[]): Answer<never>;
  /** After the turn has ended and its answer is stored. */
  onChatResponse?(response: ChatResponse): Answer<never>;
  /** After a turn failed outside the model's stream. */
  onChatError?(error: ChatError): Answer<never>;
}

/** A tool that the model may call. */
export interface Tool<Input = any> {
  /** For the model. */
  description: string;
  /** Of the input, an object; inputs are checked against it before the tool runs. Default: an object with anything. */
  inputSchema?: Schema;
  /** Runs it, at once. What it returns is what the model sees, as JSON; what it throws is the call's error, by its message. */
  execute(input: Input, call: CallContext): unknown;
  /** Whether a call whose outcome is unknown after a crash may be made again. Default: `never`. */
  replay?: "never" | "safe";
  /** True if it must not run beside another tool call of the same step. */
  sequential?: boolean;
  /** True if a person has to approve each call. */
  needsApproval?: boolean;
}

/** What a tool may know about its call. */
export interface CallContext {
  /** The host's id of this call, the same in the tool hooks. */
  toolCallId: string;
  requestId: string;
  /** From 0. */
  stepNumber: number;
  /** The same for every attempt at this call: pass it on to services that know such keys. */
  idempotencyKey: string;
}

export interface Permissions {
  /** Reserved: the engine of JavaScript extensions has no file system. Default: `none`. */
  workspace?: "none" | "read" | "read-write";
  /** Reserved: the engine of JavaScript extensions has no `fetch`. */
  network?: string[];
  /** Labels of context blocks to read, or `all`. */
  contextRead?: string[];
  /** Labels of context blocks to write, or `own`. */
  contextWrite?: string[];
  /** Read the conversation. */
  messages?: boolean;
  /** Add user messages to the conversation. */
  sendMessage?: boolean;
  /** Read facts about the session. */
  sessionInfo?: boolean;
  /** Hooks whose answer should count. */
  decide?: ("beforeStep" | "beforeToolCall" | "afterToolCall")[];
  /** Choose another model. */
  model?: boolean;
  /** Environment variables of the host, by name. */
  environment?: string[];
  /** More storage than the host gives to everyone, in bytes. */
  storageBytes?: number;
}

export interface TurnSnapshot {
  /** The system text as it stands now: the built-in hooks and the extensions before this one have spoken. */
  system: string;
  /** The tools on offer, or the active ones once somebody chose. */
  toolNames: string[];
  messageCount: number;
  /** The most steps that the turn may take, as it stands now. */
  maxSteps: number;
  /** True if the turn goes on without a new user message. */
  continuation: boolean;
  /** Custom fields of the client's request. */
  body?: { [key: string]: Json };
  modelId: string;
  requestId: string;
  trigger:
    | "ws-chat" | "rpc" | "programmatic" | "submission" | "scheduled" | "agent-tool" | "auto-continuation"
    | "recovery-continue" | "recovery-retry";
}

export type ToolChoice = "auto" | "none" | "required" | { type: "tool"; toolName: string };

/** What to change for one step. What is undefined stays as it is. */
export interface StepConfig {
  system?: string;
  /** The whole conversation as the model should see it: model messages with `role` and `content`. */
  messages?: Json[];
  /** The only tools on offer. */
  activeTools?: string[];
  toolChoice?: ToolChoice;
  /** `provider:name`. Counts with the permission `model`. */
  model?: string;
}

/** What to change for the turn. What is undefined stays as it is; null puts a field back to the host's default. */
export type TurnConfig = {
  [Field in keyof TurnFields]?: TurnFields[Field] | null;
};

interface TurnFields extends Required<StepConfig> {
  /** At least 1. */
  maxSteps: number;
  sendReasoning: boolean;
  maxOutputTokens: number;
  /** 0 or more. */
  temperature: number;
  /** 0 to 1. */
  topP: number;
  topK: number;
  presencePenalty: number;
  frequencyPenalty: number;
  stopSequences: string[];
  seed: number;
  maxRetries: number;
  /** For the whole turn. */
  timeoutMs: number;
  /** Added to the request. */
  headers: { [name: string]: string };
  /** An object by provider. */
  providerOptions: { [provider: string]: { [key: string]: Json } };
}

export interface StepSnapshot {
  requestId: string;
  /** From 0. */
  stepNumber: number;
  system: string;
  toolNames: string[];
  messageCount: number;
  modelId: string;
  /** Of the steps so far. */
  totalUsage: Usage;
}

/** Tokens, where the provider tells them. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  reasoningTokens?: number;
  cachedInputTokens?: number;
}

export interface ToolCall {
  toolCallId: string;
  toolName: string;
  input: Json;
  stepNumber: number;
  /** True for a tool that was registered at run time, such as one of an MCP server. */
  dynamic: boolean;
}

/** Undefined is no opinion. A reason reaches the model only with the operator's leave. */
export type ToolDecision =
  | { action: "allow"; input?: Json }
  | { action: "block"; reason?: string }
  | { action: "substitute"; output: Json };

export type ToolResult = ToolCall & {
  durationMs: number;
  outcome: "executed" | "failed" | "blocked" | "substituted" | "invalid" | "cancelled";
} & ({ success: true; output: Json } | { success: false; error: { name: string; message: string } });

/** What to change of a result. What is undefined stays as it is. */
export interface ToolOverride {
  output?: Json;
  isError?: boolean;
  /** End the turn after this step, if every call of the step says so. */
  terminate?: boolean;
}

export interface StepFinish {
  stepNumber: number;
  finishReason: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  text: string;
  reasoningText: string;
  toolCallCount: number;
  toolResultCount: number;
  usage: Usage;
  providerMetadata?: { [provider: string]: Json };
}

export interface Chunk {
  /** The AI SDK's stream part types: `text-delta`, `tool-call`, … */
  type: string;
  /** Of a delta. */
  text?: string;
  toolName?: string;
  toolCallId?: string;
}

export interface ChatResponse {
  requestId: string;
  continuation: boolean;
  status: "completed" | "error" | "aborted";
  error?: string;
  /** The answer's text, all steps together. */
  text: string;
  stepCount: number;
  totalUsage: Usage;
}

export interface ChatError {
  requestId?: string;
  stage: "parse" | "persist" | "turn" | "stream" | "recovery" | "transcript";
  message: string;
  classification?: "context-overflow" | "rate-limit" | "transient" | "fatal" | "unknown";
  /** Whether the user's message was stored before it happened. */
  messagesPersisted: boolean;
}

/** Checks what an extension is made of, and returns it: `export default extension({ … })`. */
export function extension(definition: Extension): Extension;

/** The model should write another input: what a tool throws if its input does not fit, though it passed the schema. */
export class InvalidInput extends Error {}

/** Why the host did not do what was asked. */
export class BridgeError extends Error {
  code: "denied" | "not-found" | "too-large" | "unavailable" | "failed";
}

type Level = "trace" | "debug" | "info" | "warn" | "error";

/** Lines for the operator. What is no text is written as JSON. */
export const log: { [level in Level]: (...parts: unknown[]) => void };

/** What the operator wrote for this extension; `{}` where nothing is set. */
export function settings<Settings = { [key: string]: Json }>(): Settings;

/** Values by key, kept for this extension alone, over turns, sessions, restarts and upgrades. */
export const storage: {
  /** The JSON value; undefined if there is no such key. */
  get<Value = any>(key: string): Value | undefined;
  /** Written when it returns. A key has at most 512 bytes. */
  set(key: string, value: unknown): void;
  getBytes(key: string): Uint8Array | undefined;
  setBytes(key: string, bytes: Uint8Array): void;
  /** False if there was no such key. */
  delete(key: string): boolean;
  /** Sorted. */
  keys(prefix?: string): string[];
  /** Adds to a whole number (1 unless told, a missing one counts as 0) in one step and returns the sum. */
  increment(key: string, delta?: number): number;
};

/** The context blocks of the system prompt. */
export const context: {
  /** Undefined if there is no such block. */
  get(label: string): string | undefined;
  set(label: string, text: string): void;
};

/** The conversation, with the permission `messages`. */
export const messages: {
  /** The last `limit` messages, oldest first; at most 1,000. */
  recent(limit: number): { id: string; role: string; content: string }[];
};

export const session: {
  /** With the permission `sessionInfo`. */
  info(): { name: string; messageCount: number };
  /** Adds a user message to the history, with the permission `sendMessage`. It starts no turn. */
  sendMessage(text: string): void;
};
