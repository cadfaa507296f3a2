// Elements and numbers. Text of a run is only ever put in as a text node.
"use strict";

// What would reorder or hide text is shown for what it is.
function visible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.codePointAt(0);
    return code < 0x20 ? String.fromCodePoint(0x2400 + code) : code === 0x7f ? "\u2421" : code < 0xa0 ? "\ufffd" : `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`;
  });
}

// el("div", {class: "card", title: "...", onclick: f}, child, ...): children are elements, text, or nothing.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, name === "title" ? visible(value) : value);
  }
  for (const child of children.flat())
    if (child !== null && child !== undefined && child !== false) node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  return node;
}

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) name.startsWith("on") ? node.addEventListener(name.slice(2), value) : node.setAttribute(name, value);
  for (const child of children) node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  return node;
}

const count = (n) => Math.round(n).toLocaleString("en");
const fixed = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−"));
const milli = (value, digits = 3) => (value === null || value === undefined ? "–" : fixed(value / 1000, digits));
const short = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(4))).replace("-", "−"));
const percent = (share) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)} %`);
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const shorten = (text, length) => {
  const line = text.replace(/\s+/g, " ");
  return line.length > length ? `${line.slice(0, length)}…` : line;
};
const fact = (name, value, title) => el("span", { title }, `${name} `, el("b", {}, value));
const bar = (share, title) => {
  const inner = el("i");
  inner.style.width = `${Math.round(100 * share)}%`;
  return el("span", { class: "bar", title }, inner);
};
const problem = (error) => el("div", { class: "card problem", role: "alert" }, error.message || String(error));
