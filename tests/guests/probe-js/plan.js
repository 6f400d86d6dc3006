import { decode, encode } from "./lathe/utf8.js";

/**
 * The extension of a case, as it stands in the case: the mark by which the harness finds the place, JSON, a line's end,
 * spaces. It is part of the file and not of the settings, so that `describe` tells the truth about each file.
 */
const PLACE = new Uint8Array(64 << 10).fill(0x20);
const MARK = "lathe-probe-plan:";
PLACE.set(encode(`${MARK}{"name":"probe"}\n`));

let read;

export function plan() {
  read ??= JSON.parse(decode(PLACE.subarray(MARK.length, PLACE.indexOf(0x0a))));
  return read;
}
