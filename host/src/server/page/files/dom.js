// Building the page out of nodes. Nothing here, and nothing elsewhere, turns text into markup.

/** Characters of a value that are shown: more only makes the page slow. */
const SHOWN = 100_000;

/**
 * Makes an element. A function among the attributes is a listener (`onclick`), true an empty attribute; null, undefined
 * and false are left out, among the children, too.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else set(element, name, value);
  }
  element.append(...present(children));
  return element;
}

/** Sets an attribute, or takes it away; touches nothing that is as it should be. */
export function set(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value === true ? "" : value)) {
    element.setAttribute(name, value === true ? "" : value);
  }
}

/** Sets an element's text, if it is another. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts children in the place of all that an element has. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

const kept = new WeakMap();

/**
 * Shows a list so that a node stays the same as long as its item is there: focus, scroll and what is open survive.
 * `update` may be left out.
 */
export function keyed(parent, items, key, make, update = () => {}) {
  const old = kept.get(parent) ?? new Map();
  const nodes = new Map(items.map((item) => [key(item), old.get(key(item)) ?? make(item)]));
  for (const [name, node] of old) if (!nodes.has(name)) node.remove();
  let place = parent.firstChild;
  for (const item of items) {
    const node = nodes.get(key(item));
    update(node, item);
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  }
  kept.set(parent, nodes);
}

/** A value to read: text as it is, all else as JSON. */
export function readable(value) {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}\n… ${text.length - SHOWN} more characters` : text;
}

/** A box with a value, which scrolls by itself, by keyboard too. */
export function box(value, label) {
  return h("pre", { class: "box", tabindex: 0, role: "group", "aria-label": label }, readable(value));
}

/** Calls a function at most once a frame, however often it is asked to. */
export function throttled(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    const run = () => {
      asked = false;
      draw();
    };
    // A page in the background has no frames, and yet is to be right when it is looked at again.
    if (document.hidden) setTimeout(run, 100);
    else requestAnimationFrame(run);
  };
}
