// The little of Markdown that models write most, first as plain data, then as nodes.

import { h } from "./dom.js";

const FENCE = /^ {0,3}(```+|~~~+)\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^( {0,9})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?(.*)$/;

/**
 * Reads a text, which may still be growing, into blocks: `{kind: "paragraph" | "heading" | "code" | "list" | "quote" |
 * "rule", source, …}`. `source` is what the block was written as.
 */
export function parse(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const start = at;
    const line = lines[at];
    if (!line.trim()) {
      at += 1;
      continue;
    }
    let block;
    const fence = FENCE.exec(line);
    if (fence) {
      const code = [];
      const end = (candidate) => candidate.trim().startsWith(fence[1]) && !candidate.trim().slice(fence[1].length).trim();
      for (at += 1; at < lines.length && !end(lines[at]); at += 1) code.push(lines[at]);
      at += 1;
      block = { kind: "code", language: fence[2], text: code.join("\n") };
    } else if (RULE.test(line)) {
      at += 1;
      block = { kind: "rule" };
    } else if (HEADING.test(line)) {
      const [, marks, title] = HEADING.exec(line);
      at += 1;
      block = { kind: "heading", level: marks.length, text: title };
    } else if (QUOTE.test(line)) {
      const quoted = [];
      for (; at < lines.length && QUOTE.test(lines[at]); at += 1) quoted.push(QUOTE.exec(lines[at])[1]);
      block = { kind: "quote", text: quoted.join("\n") };
    } else if (ITEM.test(line)) {
      [block, at] = list(lines, at);
    } else {
      const words = [];
      for (; at < lines.length && lines[at].trim() && !(words.length && starts(lines[at])); at += 1) words.push(lines[at]);
      block = { kind: "paragraph", text: words.join("\n") };
    }
    blocks.push({ ...block, source: lines.slice(start, at).join("\n") });
  }
  return blocks;
}

function starts(line) {
  return FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || QUOTE.test(line) || RULE.test(line);
}

/** Items may go on over lines that are indented; an item that is indented more is a list within. */
function list(lines, at, outer = -1) {
  const [, indent, mark] = ITEM.exec(lines[at]);
  const ordered = /\d/.test(mark);
  const items = [];
  for (; at < lines.length; at += 1) {
    const line = lines[at];
    const item = ITEM.exec(line);
    if (item && item[1].length <= indent.length) {
      if (item[1].length <= outer || /\d/.test(item[2]) !== ordered || RULE.test(line)) break;
      items.push({ text: item[3], lists: [] });
    } else if (item) {
      const [inner, next] = list(lines, at, indent.length);
      items.at(-1).lists.push(inner);
      at = next - 1;
    } else if (line.trim() && (/^\s/.test(line) || lines[at - 1].trim()) && !starts(line)) {
      items.at(-1).text += `\n${line.trim()}`;
    } else if (line.trim() || !ITEM.test(lines[at + 1] ?? "")) break;
  }
  return [{ kind: "list", ordered, first: ordered ? parseInt(mark, 10) : 1, items }, at];
}

const INLINE =
  /(`+)(.+?)\1(?!`)|\*\*(?=\S)(.+?)\*\*|(?<![\w*])\*(?=[^\s*])([^*\n]+?)\*(?![\w*])|\[([^\]\n]*)\]\(([^\s()]+)\)|(https?:\/\/[^\s<>"')\]]+[^\s<>"')\].,;:!?])/s;

/** Reads what stands in a line: strings, `{code}`, `{strong: […]}`, `{em: […]}`, `{link, href}`. */
export function spans(text) {
  const found = [];
  for (let rest = text; rest; ) {
    const match = INLINE.exec(rest);
    if (!match) {
      found.push(rest);
      break;
    }
    const [whole, , code, strong, em, label, target, url] = match;
    if (match.index) found.push(rest.slice(0, match.index));
    if (code !== undefined) found.push({ code: code.trim() || code });
    else if (strong !== undefined) found.push({ strong: spans(strong) });
    else if (em !== undefined) found.push({ em: spans(em) });
    else if (url !== undefined) found.push({ link: url, href: url });
    // Only what leads to a page or a mail program: `javascript:` and the like stay text.
    else if (/^(https?:\/\/|mailto:)/i.test(target)) found.push({ link: label || target, href: target });
    else found.push(whole);
    rest = rest.slice(match.index + whole.length);
  }
  return found;
}

const drawn = new WeakMap();

/** Shows a text in an element. When it has grown, only the blocks that have changed are made anew. */
export function show(element, text) {
  const old = drawn.get(element) ?? [];
  const blocks = parse(text);
  const nodes = blocks.map((block, index) => {
    const before = old[index];
    return before?.source === block.source ? before : { source: block.source, node: draw(block) };
  });
  nodes.forEach(({ node }, index) => {
    if (element.childNodes[index] !== node) element.insertBefore(node, element.childNodes[index] ?? null);
  });
  while (element.childNodes.length > nodes.length) element.lastChild.remove();
  drawn.set(element, nodes);
}

function draw(block) {
  switch (block.kind) {
    case "code":
      return h("pre", { class: "code", tabindex: 0, role: "group", "aria-label": `${block.language || "code"} block` },
        h("code", {}, block.text));
    case "heading":
      // Below the page's own headings, whatever the model thinks.
      return h(`h${Math.min(6, block.level + 2)}`, {}, inline(block.text));
    case "rule":
      return h("hr");
    case "quote":
      return h("blockquote", {}, parse(block.text).map(draw));
    case "list": {
      const items = block.items.map((item) => h("li", {}, inline(item.text), item.lists.map(draw)));
      return block.ordered ? h("ol", { start: block.first }, items) : h("ul", {}, items);
    }
    default:
      return h("p", {}, inline(block.text));
  }
}

function inline(text) {
  return spans(text).map(node);
}

function node(span) {
  if (typeof span === "string") return span;
  if (span.code !== undefined) return h("code", {}, span.code);
  if (span.strong) return h("strong", {}, span.strong.map(node));
  if (span.em) return h("em", {}, span.em.map(node));
  return h("a", { href: span.href, target: "_blank", rel: "noopener noreferrer" }, span.link);
}
