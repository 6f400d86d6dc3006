// Keys that work everywhere on the page.

function types(element) {
  return element.closest("input, textarea, select, [contenteditable]") !== null;
}

/** Binds `{focus, stop, help}`; `stop` says whether there was something to stop. */
export function bind({ focus, stop, help }) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // A dialog has its own Escape, and keys typed into it are meant for it.
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if (stop()) event.preventDefault();
    } else if (event.key === "/" && !types(event.target)) {
      event.preventDefault();
      focus();
    } else if (event.key === "?" && !types(event.target)) {
      event.preventDefault();
      help();
    }
  });
}
