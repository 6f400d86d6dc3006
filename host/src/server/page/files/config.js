// Who set what: the turn's config as the extensions changed it.

/**
 * The changes of a turn's rows, by section and field: `[{section, field, writes: [{extension, hook, value}]}]`. Writes are
 * in the order of the calls; the last one counts. A null value puts the field back to the default.
 */
export function changes(rows) {
  const fields = new Map();
  for (const row of rows.filter((other) => other.kind === "hook" || other.kind === "config-change")) {
    for (const { hook = "built-in hooks", extension = "the host", changes: made } of row.events) {
      for (const { field, value } of made ?? []) {
        const key = `${row.section} ${field}`;
        const entry = fields.get(key) ?? { section: row.section, field, writes: [] };
        entry.writes.push({ extension, hook, value });
        fields.set(key, entry);
      }
    }
  }
  return [...fields.values()].sort((a, b) => a.section - b.section || order(a.field, b.field));
}

/** The system prompt is what people look for. */
function order(a, b) {
  const rank = (field) => (field === "system" ? 0 : 1);
  return rank(a) - rank(b) || a.localeCompare(b);
}

/**
 * What a text has that the one before it has not, as `{before, added, removed, after}`: the parts that are the same at both
 * ends, and what is between them.
 */
export function difference(old, text) {
  const most = Math.min(old.length, text.length);
  let start = 0;
  while (start < most && old[start] === text[start]) start += 1;
  let end = 0;
  while (end < most - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  return {
    before: text.slice(0, start),
    added: text.slice(start, text.length - end),
    removed: old.slice(start, old.length - end),
    after: text.slice(text.length - end),
  };
}

/**
 * What a turn has cost by extension: `[{extension, hooks, tools, durationMs, fuel, memoryBytes, errors, denied}]`, in the
 * order of their first calls.
 */
export function costs(rows) {
  const found = new Map();
  const calls = rows.flatMap((row) => row.events).filter((event) => event.type === "hook-call" || event.type === "tool-cost");
  for (const call of calls) {
    const { extension } = call;
    const cost = found.get(extension) ?? { extension, hooks: 0, tools: 0, durationMs: 0, fuel: 0, memoryBytes: 0, errors: 0, denied: 0 };
    cost[call.type === "hook-call" ? "hooks" : "tools"] += 1;
    cost.durationMs += call.durationMs;
    cost.fuel += call.fuel;
    cost.memoryBytes = Math.max(cost.memoryBytes, call.memoryBytes);
    cost.errors += call.error ? 1 : 0;
    cost.denied += call.denied ?? 0;
    found.set(extension, cost);
  }
  return [...found.values()];
}
