// "Who set what", as it is shown.

import { changes, difference } from "./config.js";
import { fill, h, readable } from "./dom.js";
import { sectionName } from "./timeline.js";

/** Shows who has changed which field of a turn's config. */
export function drawFields(element, turn) {
  const found = changes(turn.rows);
  const signature = JSON.stringify(found);
  if (element.signature === signature) return;
  element.signature = signature;
  if (!found.length) {
    fill(element, h("p", { class: "muted" }, "No extension has changed this turn's settings."));
    return;
  }
  fill(element, h("dl", { class: "fields" }, found.map(field)));
}

function field({ section, field: name, writes }) {
  const scope = section > 0 && Number.isFinite(section) ? h("span", { class: "muted" }, `in ${sectionName(section).toLowerCase()} alone`) : null;
  return [
    h("dt", { "data-field": name }, h("code", {}, name), scope),
    writes.map((write, index) => entry(name, write, writes[index - 1], index === writes.length - 1)),
  ];
}

function entry(name, { extension, hook, value }, before, counts) {
  const head = h("div", { class: "writer" },
    h("b", {}, extension), h("span", { class: "muted" }, hook),
    h("span", { class: `note ${counts ? "good" : "muted"}` }, counts ? "counts" : "overridden"));
  return h("dd", { "data-extension": extension, "data-counts": String(counts) }, head, shown(name, value, before?.value));
}

function shown(name, value, before) {
  if (value === null) return h("span", { class: "muted" }, "put back to the default");
  const text = readable(value);
  if (text.length < 60 && !text.includes("\n")) return h("code", {}, text);
  const attributes = { class: "box", tabindex: 0, role: "group", "aria-label": `${name} now` };
  if (typeof value !== "string" || typeof before !== "string") return h("pre", attributes, text);
  const parts = difference(before, value);
  return h("pre", attributes, parts.before, h("ins", {}, parts.added), parts.after);
}
