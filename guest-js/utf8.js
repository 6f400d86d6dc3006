/** Text and bytes. The engine of the sandbox has no TextEncoder; what it has is as good. */

export function encode(text) {
  return Uint8Array.from(unescape(encodeURIComponent(text)), (char) => char.charCodeAt(0));
}

export function decode(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return decodeURIComponent(escape(text));
}
