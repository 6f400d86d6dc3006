import { HOOKS } from "./words.js";

/** What the host learns of an extension before it runs it. */
export function manifest(extension, about) {
  const { permissions = {}, context = [], settingsSchema } = extension;
  const name = extension.name ?? about.name;
  return {
    name,
    version: extension.version ?? about.version ?? "0.0.0",
    description: extension.description ?? about.description ?? name,
    hooks: hooks(Object.keys(extension.hooks ?? {})),
    tools: Object.entries(extension.tools ?? {}).map(([name, tool]) => ({
      name,
      description: tool.description,
      inputSchema: JSON.stringify(tool.inputSchema ?? { type: "object", properties: {} }),
      replay: tool.replay ?? "never",
      sequential: tool.sequential ?? false,
      needsApproval: tool.needsApproval ?? false,
    })),
    permissions: {
      workspace: permissions.workspace ?? "none",
      network: permissions.network ?? [],
      contextRead: permissions.contextRead ?? [],
      contextWrite: permissions.contextWrite ?? [],
      messages: permissions.messages ?? false,
      sendMessage: permissions.sendMessage ?? false,
      sessionInfo: permissions.sessionInfo ?? false,
      decide: hooks(permissions.decide ?? []),
      model: permissions.model ?? false,
      environment: permissions.environment ?? [],
      storageBytes: permissions.storageBytes,
    },
    context: context.map(({ label, description, maxTokens }) => ({ label, description, maxTokens })),
    settingsSchema: settingsSchema && JSON.stringify(settingsSchema),
  };
}

function hooks(names) {
  return names.map((name) => {
    if (!Object.hasOwn(HOOKS, name)) throw new TypeError(`there is no hook "${name}"`);
    return HOOKS[name];
  });
}
