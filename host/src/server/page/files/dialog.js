// Questions to a person.

import { h } from "./dom.js";

/** Opens a dialog and waits for its end: the name of the button that ended it, or "" if it was dismissed. */
function open(dialog) {
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

function build(title, children, buttons) {
  const id = `dialog-${crypto.randomUUID()}`;
  const end = (value) => (event) => {
    event.preventDefault();
    dialog.close(value);
  };
  const [first, ...others] = buttons;
  const dialog = h("dialog", { "aria-labelledby": id },
    h("form", { onsubmit: end(first.value) },
      h("h2", { id }, title),
      children,
      h("div", { class: "row end" },
        others.map(({ label, value }) => h("button", { type: "button", onclick: end(value) }, label)),
        h("button", { class: first.danger ? "danger" : "primary" }, first.label))));
  return dialog;
}

/** Asks whether something is to be done; `content` are the nodes that say what. */
export async function confirm(title, content, action, danger = false) {
  const dialog = build(title, content, [{ label: action, value: "yes", danger }, { label: "Cancel", value: "" }]);
  return (await open(dialog)) === "yes";
}

/** Asks for a line of text; null if none is given. */
export async function prompt(title, content, label, { type = "text", action = "OK", value = "" } = {}) {
  const input = h("input", { type, required: true, autocomplete: "off", spellcheck: "false", autofocus: true, value });
  const dialog = build(title, [content, h("label", { class: "field" }, label, input)],
    [{ label: action, value: "yes" }, { label: "Cancel", value: "" }]);
  return (await open(dialog)) === "yes" && input.value.trim() ? input.value.trim() : null;
}

/** Says something. */
export async function tell(title, content) {
  await open(build(title, content, [{ label: "Close", value: "" }]));
}
