/** Personal details in texts. Patterns find candidates; numbers with a check digit count only if it is right. */

export const KINDS = {
  email: { pattern: /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu },
  iban: { pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g, holds: iban },
  card: { pattern: /\b\d(?:[ -]?\d){12,18}\b/g, holds: luhn },
  phone: { pattern: /(?<![\w.])\+\d{1,3}[ -]?(?:\(\d{1,4}\)[ -]?)?\d(?:[ -]?\d){5,11}\b/g },
};

/** Masks all texts in a JSON value. Says how many details there were, by kind. */
export function mask(value, kinds) {
  const found = {};
  return { value: masked(value, kinds, found), found };
}

function masked(value, kinds, found) {
  if (typeof value === "string") return maskedText(value, kinds, found);
  if (Array.isArray(value)) return value.map((entry) => masked(entry, kinds, found));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, masked(entry, kinds, found)]));
}

function maskedText(text, kinds, found) {
  for (const kind of kinds) {
    const { pattern, holds = () => true } = KINDS[kind];
    text = text.replace(pattern, (candidate) => {
      if (!holds(candidate.replace(/[ -]/g, ""))) return candidate;
      found[kind] = (found[kind] ?? 0) + 1;
      return `[${kind}]`;
    });
  }
  return text;
}

/** From the right, every second digit is doubled, and the digits' sum is a multiple of ten. */
function luhn(digits) {
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits.at(-1 - place));
    sum += place % 2 === 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0);
  }
  return sum % 10 === 0;
}

/** Its first four signs put last, letters as numbers from 10 on, the whole is 1 modulo 97. */
function iban(text) {
  let rest = 0;
  for (const sign of text.slice(4) + text.slice(0, 4)) {
    for (const digit of String(parseInt(sign, 36))) rest = (rest * 10 + Number(digit)) % 97;
  }
  return rest === 1;
}
