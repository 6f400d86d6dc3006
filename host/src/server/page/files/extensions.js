// The panel of extensions: how they are, what they may do, and what the operator can change.

import { call } from "./api.js";
import { confirm, prompt, tell } from "./dialog.js";
import { fill, h, keyed, say, set } from "./dom.js";
import { count, ms, plural } from "./format.js";
import { permissions } from "./permissions.js";

const HEALTH = { ready: "ready", quarantined: "quarantined", probing: "being tried again", disabled: "disabled", failed: "failed to load" };

/** Shows the extensions in a panel. */
export class Extensions {
  constructor(panel, announce) {
    this.announce = announce;
    this.list = panel.querySelector("#extension-list");
    this.note = panel.querySelector("#extension-note");
    this.operator = false;
    this.extensions = [];
    this.asked = 0;
  }

  /** Asks the server anew. */
  async refresh() {
    this.asked += 1;
    const asked = this.asked;
    try {
      const extensions = await call("GET", "/api/extensions");
      // A later answer may have come first.
      if (asked !== this.asked) return;
      this.extensions = extensions;
      this.at = Date.now();
      say(this.note, extensions.length ? "" : "No extension is loaded.");
    } catch (error) {
      say(this.note, error.message);
    }
    this.draw();
  }

  draw() {
    keyed(this.list, this.extensions, (extension) => extension.name ?? extension.file, () => h("li", { class: "extension" }), (node, extension) => this.card(node, extension));
    clearInterval(this.timer);
    if (this.extensions.some((extension) => extension.quarantineMs)) this.timer = setInterval(() => this.tick(), 1000);
  }

  /** Counts quarantines down; when one is over, the server knows what came of it. */
  tick() {
    for (const node of this.list.querySelectorAll("[data-left]")) {
      const left = Math.ceil((node.dataset.left - (Date.now() - this.at)) / 1000);
      say(node, left > 0 ? `for ${left} s more` : "for no longer");
      if (left === 0) this.refresh();
    }
  }

  card(node, extension) {
    const signature = JSON.stringify([extension, this.operator]);
    if (node.signature === signature) return;
    node.signature = signature;
    set(node, "data-name", extension.name);
    set(node, "data-health", extension.health);
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    const open = node.querySelector("details")?.open;
    if (!extension.name) {
      const file = extension.file.split(/[\\/]/).at(-1);
      fill(node, h("h3", {}, file), h("p", { class: "bad" }, extension.error));
      return;
    }
    fill(node, this.head(extension), this.health(extension), this.rights(extension), this.more(extension));
    node.querySelector("details").open = Boolean(open);
    // It was made anew beneath the person who has just used it.
    if (focused) node.querySelector(`[data-action="${CSS.escape(focused)}"]`)?.focus();
  }

  head({ name, version, health }) {
    const on = health !== "disabled";
    const toggle = h("button", {
      type: "button", role: "switch", class: "switch", "aria-checked": String(on), "aria-label": `${name} is enabled`, "data-action": "enable",
      onclick: () => this.act(name, on ? "disable" : "enable"),
    }, h("i"));
    return h("div", { class: "head" }, h("h3", {}, name), h("span", { class: "muted" }, version), this.operator && toggle);
  }

  health({ name, health, strikes, quarantineMs, lastError, error }) {
    const words = [h("strong", {}, HEALTH[health] ?? health)];
    if (quarantineMs) words.push(" ", h("span", { "data-left": quarantineMs }, `for ${Math.ceil(quarantineMs / 1000)} s more`));
    if (strikes && !quarantineMs) words.push(`, ${plural(strikes, "strike")}`);
    const reset = (quarantineMs || strikes > 0) && this.operator;
    const last = lastError ?? error;
    return h("div", { class: "health" },
      h("span", { class: "dot" }), h("span", {}, words),
      reset && h("button", { type: "button", class: "small", "data-action": "reset", onclick: () => this.act(name, "reset") }, "Reset"),
      last && h("p", { class: "error" }, last));
  }

  rights(extension) {
    const rights = permissions(extension.permissions ?? {});
    if (!rights.length) return h("p", { class: "muted" }, "Asks for no permission.");
    return h("ul", { class: "rights" }, rights.map((right) => this.right(extension, right)));
  }

  right({ name }, right) {
    const { text, granted, asked, meaning } = right;
    const state = granted ? (asked ? "granted" : "granted, not asked for") : "asked, not granted";
    const button = this.operator && h("button", {
      type: "button", class: "small", "data-action": text, onclick: () => this.change(name, right),
    }, granted ? "Revoke" : "Grant…");
    return h("li", { "data-granted": String(granted), "data-permission": text },
      h("span", { class: "mark", "aria-hidden": "true" }, granted ? "✓" : "✗"),
      h("span", {}, h("code", {}, text), h("span", { class: "muted" }, ` ${state}`), h("br"), meaning),
      button);
  }

  more({ description, hooks = [], tools = [], totals, file, digest = "", limits }) {
    const failures = Object.entries(totals?.failures ?? {}).map(([cause, number]) => `${number} × ${cause}`);
    const row = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
    const sum = totals ? [plural(totals.calls, "call"), ms(totals.timeMs), `${count(totals.fuel)} fuel`].join(", ") : "not called yet";
    return [
      description && h("p", { class: "description" }, description),
      h("details", {},
        h("summary", {}, `${plural(hooks.length, "hook")}, ${plural(tools.length, "tool")}, ${sum}`),
        h("dl", { class: "facts" },
          row("Hooks", hooks.join(", ") || "none"),
          row("Tools", tools.length ? h("ul", {}, tools.map((tool) => h("li", {}, h("code", {}, tool.name), ` ${tool.description ?? ""}`))) : "none"),
          row("All calls", sum),
          row("Failures", failures.join(", ") || "none"),
          limits && row("Limits", Object.entries(limits).map(([name, value]) => `${name} ${value}`).join(", ")),
          row("File", file), row("Digest", h("code", {}, digest.slice(0, 16))))),
    ];
  }

  async act(name, action, body) {
    try {
      await call("POST", `/api/extensions/${encodeURIComponent(name)}/${action}`, body);
      this.announce(`${name}: ${action}, for turns that begin now.`);
    } catch (error) {
      await tell(`${name} stays as it is`, h("p", {}, error.message));
    }
    await this.refresh();
  }

  /** Asks first: what an extension may do is not to change by a slip of the hand. */
  async change(name, right) {
    const about = [h("p", {}, right.granted ? "This is taken from " : "This is allowed to ", h("b", {}, name), ": ", right.meaning, ".")];
    if (right.granted) {
      const permission = right.name === "workspace" ? right.name : right.text;
      if (await confirm(`Revoke ${right.text}?`, about, "Revoke", true)) await this.act(name, "revoke", { permissions: [permission] });
      return;
    }
    about.push(h("p", { class: "muted" }, "This is written to lathe.toml and holds for turns that begin then."));
    if (right.name === "workspace") {
      // Which folder is for the operator to say.
      const folder = await prompt(`Grant ${right.text}?`, about, "Folder of the host", { action: "Grant" });
      if (folder) await this.act(name, "grant", { permissions: [`workspace=${folder}:${right.value}`] });
    } else if (await confirm(`Grant ${right.text}?`, about, "Grant")) {
      await this.act(name, "grant", { permissions: [right.text] });
    }
  }
}
