// An answer out of the parts of its stream (AI SDK UI message chunks).

/** Takes chunks into a message `{id, role, parts}`, which it changes. */
export class Answer {
  constructor(message) {
    this.message = message;
    /** Parts that still grow, by kind and id; ids begin anew in each step. */
    this.open = new Map();
  }

  /** Takes one chunk. One of a type that it does not know changes nothing. */
  apply(chunk) {
    const { parts } = this.message;
    switch (chunk.type) {
      case "start":
        if (chunk.messageId) this.message.id = chunk.messageId;
        break;
      case "start-step":
        parts.push({ type: "step-start" });
        break;
      case "finish-step":
        this.open.clear();
        break;
      case "text-start":
      case "reasoning-start":
        this.grow(chunk);
        break;
      case "text-delta":
      case "reasoning-delta":
        this.grow(chunk).text += chunk.delta;
        break;
      case "text-end":
      case "reasoning-end":
        this.grow(chunk).state = "done";
        this.open.delete(key(chunk));
        break;
      case "tool-input-start":
        this.tool(chunk);
        break;
      case "tool-input-delta": {
        const tool = this.tool(chunk);
        tool.inputText = (tool.inputText ?? "") + chunk.inputTextDelta;
        break;
      }
      case "tool-input-available":
        this.settle(chunk, { state: "input-available", input: chunk.input });
        break;
      case "tool-input-error":
        this.settle(chunk, { state: "output-error", input: chunk.input, errorText: chunk.errorText });
        break;
      case "tool-output-available":
        this.settle(chunk, { state: "output-available", output: chunk.output, preliminary: chunk.preliminary === true });
        break;
      case "tool-output-error":
        this.settle(chunk, { state: "output-error", errorText: chunk.errorText });
        break;
      case "tool-output-denied":
        this.settle(chunk, { state: "output-denied" });
        break;
      case "tool-approval-request":
        this.settle(chunk, { state: "approval-requested", approval: { id: chunk.approvalId } });
        break;
      case "source-url":
      case "source-document":
      case "file":
        parts.push({ ...chunk });
        break;
      default:
        if (chunk.type?.startsWith("data-") && !chunk.transient) this.data(chunk);
    }
  }

  grow(chunk) {
    const found = this.open.get(key(chunk));
    if (found) return found;
    const part = { type: kind(chunk), text: "", state: "streaming" };
    this.open.set(key(chunk), part);
    this.message.parts.push(part);
    return part;
  }

  tool({ toolCallId, toolName }) {
    const found = this.message.parts.find((part) => part.toolCallId === toolCallId);
    if (found) return found;
    const part = { type: `tool-${toolName ?? "tool"}`, toolName, toolCallId, state: "input-streaming" };
    this.message.parts.push(part);
    return part;
  }

  settle(chunk, fields) {
    const tool = this.tool(chunk);
    delete tool.inputText;
    Object.assign(tool, fields);
  }

  /** The same type with the same id takes the place of the one before. */
  data({ type, id, data }) {
    const found = id !== undefined && this.message.parts.find((part) => part.type === type && part.id === id);
    if (found) found.data = data;
    else this.message.parts.push({ type, id, data });
  }
}

function kind(chunk) {
  return chunk.type.slice(0, chunk.type.lastIndexOf("-"));
}

function key(chunk) {
  return `${kind(chunk)} ${chunk.id}`;
}

/** A tool part's name. */
export function toolName(part) {
  return part.toolName ?? part.type.slice("tool-".length);
}

/** Whether a part is a tool call. */
export function isTool(part) {
  return part.toolCallId !== undefined;
}
