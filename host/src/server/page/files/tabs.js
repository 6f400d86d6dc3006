// Panels that stand side by side where there is room, and behind tabs where there is not.

import { set } from "./dom.js";

const MEDIUM = matchMedia("(min-width: 760px)");
const WIDE = matchMedia("(min-width: 1120px)");

/** Panels that need no tab, by the room that there is. */
function always() {
  if (WIDE.matches) return ["sessions", "chat"];
  return MEDIUM.matches ? ["chat"] : [];
}

/** Works the tabs of a tab list (ARIA's tabs pattern); each names its panel by `aria-controls`. */
export class Tabs {
  constructor(list) {
    this.tabs = [...list.querySelectorAll("[role=tab]")];
    this.selected = "chat";
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.select(name(tab)));
      tab.addEventListener("keydown", (event) => this.key(event));
    }
    WIDE.addEventListener("change", () => this.draw());
    MEDIUM.addEventListener("change", () => this.draw());
    this.draw();
  }

  /** Shows a panel; one that is always shown stays where it is. */
  select(panel) {
    this.selected = panel;
    this.draw();
  }

  /** Those that are there now. */
  get present() {
    return this.tabs.filter((tab) => !tab.hidden);
  }

  draw() {
    const fixed = always();
    const offered = this.tabs.map(name).filter((panel) => !fixed.includes(panel));
    const selected = offered.includes(this.selected) ? this.selected : offered.includes("inspector") && fixed.length ? "inspector" : offered[0];
    for (const tab of this.tabs) {
      const panel = document.getElementById(name(tab));
      const behind = offered.includes(name(tab));
      const on = name(tab) === selected;
      tab.hidden = !behind;
      set(tab, "aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      panel.hidden = behind && !on;
      // Beside the others it is the landmark that its element is, with a name of its own.
      set(panel, "role", behind ? "tabpanel" : null);
      set(panel, "aria-labelledby", behind ? tab.id : null);
      set(panel, "aria-label", behind ? null : tab.textContent);
    }
  }

  key(event) {
    const tabs = this.present;
    const at = tabs.indexOf(event.currentTarget);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = tabs.at(to % tabs.length);
    this.select(name(tab));
    tab.focus();
  }
}

function name(tab) {
  return tab.getAttribute("aria-controls");
}
