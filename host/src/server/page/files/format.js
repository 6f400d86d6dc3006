// Numbers as people read them.

const UNITS = ["", " k", " M", " G", " T"];

function scaled(value, step) {
  let unit = 0;
  while (value >= step && unit < UNITS.length - 1) {
    value /= step;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return [value.toFixed(digits), UNITS[unit]];
}

/** A count, such as of fuel: `12.6 k`. */
export function count(value) {
  return scaled(value ?? 0, 1000).join("");
}

/** A size: `1.06 MB`. */
export function bytes(value) {
  const [number, unit] = scaled(value ?? 0, 1000);
  return `${number}${unit || " "}B`;
}

/** A duration given in milliseconds: `0.14 ms`, `2.3 s`, `4 min`. */
export function ms(value) {
  if (value === undefined || value === null) return "";
  if (value < 10) return `${value.toFixed(2)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(1)} s`;
  return `${Math.floor(value / 60_000)} min ${Math.round((value % 60_000) / 1000)} s`;
}

/** The time of day. */
export function clock(unixMs) {
  return new Date(unixMs).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** How long ago, in one or two words. */
export function ago(iso, now = Date.now()) {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (!(minutes >= 1)) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(iso).toLocaleDateString();
}

/** `1 call`, `2 calls`. */
export function plural(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
