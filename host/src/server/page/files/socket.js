// A WebSocket that comes back.

import { address, call } from "./api.js";

const FIRST = 300;
const LAST = 10_000;

/** Keeps a connection: `opened`, `frame(json)` and `closed(final)` tell of it. */
export class Socket {
  constructor(path, handlers) {
    this.path = path;
    this.handlers = handlers;
    this.failures = 0;
    this.over = false;
    this.online = () => this.retry();
    window.addEventListener("online", this.online);
    this.open();
  }

  open() {
    this.timer = null;
    const socket = new WebSocket(address(this.path, "ws"));
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      this.handlers.opened();
    };
    socket.onmessage = ({ data }) => {
      if (!this.over) this.handlers.frame(JSON.parse(data));
    };
    socket.onclose = ({ code }) => {
      if (!this.over) this.lost(code);
    };
  }

  async lost(code) {
    // These mean that trying again is of no use.
    const final = code === 1008 || (code >= 4000 && code <= 4999);
    this.handlers.closed(final);
    if (final) return;
    const wait = Math.min(LAST, FIRST * 2 ** this.failures) * (0.75 + Math.random() / 2);
    this.failures += 1;
    // A refusal looks like any other failure here; a request tells it, and asks for the token.
    if (this.failures > 1) await call("GET", "/api/about").catch(() => {});
    if (!this.over) this.timer = setTimeout(() => this.open(), wait);
  }

  /** Tries at once instead of waiting. */
  retry() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.open();
  }

  /** False if there is no connection. */
  send(frame) {
    if (this.socket.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  close() {
    this.over = true;
    clearTimeout(this.timer);
    window.removeEventListener("online", this.online);
    this.socket.close();
  }
}
