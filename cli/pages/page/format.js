"use strict";
// The data of the run, small helpers to build elements, and numbers as people read them.

const data = JSON.parse(document.getElementById("data").textContent);

/// el("div", {class: "x", onclick: f}, child, "text", …). Text is always text, never markup.
function el(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "text", "path", "title", "line", "circle"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style" && typeof value === "object")
      for (const [name, setting] of Object.entries(value)) node.style.setProperty(name, setting);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
  return node;
}

function count(n) {
  if (n === null || n === undefined) return "–";
  return n.toLocaleString("en-US").replaceAll(",", "\u202f");
}
/// What a cell of a narrow table shows: a large number without its last digits, which a phone would cut off.
function fittingText(column, row) {
  const text = column.text(row), value = column.number ? column.of(row) : null;
  return typeof value === "number" && value >= 1e5 && text === count(value) ? brief(value, [1e3, "k"]) : text;
}
/// "1.2 M": for tiles, where the exact number stands beside it.
function brief(n, ...smaller) {
  for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], ...smaller])
    if (n >= size) return `${(n / size).toFixed(n >= 100 * size ? 0 : 1)}\u202f${unit}`;
  return count(n);
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < 4) { n /= 1024; ++unit; }
  return `${Number.isInteger(n) ? n : n.toFixed(1)}\u202f${units[unit]}`;
}
function time(ns) {
  if (ns === null || ns === undefined) return "–";
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of units)
    if (ns >= size) { const v = ns / size; return `${v.toFixed(v >= 100 ? 0 : v >= 10 ? 1 : 2)}\u202f${unit}`; }
  return `${Math.round(ns)}\u202fns`;
}
function percent(share) {
  if (share === null || share === undefined) return "–";
  const p = 100 * share;
  // 99.9 is not 100, and something is not nothing.
  return `${(p > 99 && p < 100) || (p > 0 && p < 1) ? Math.min(p, 99.9).toFixed(1) : p.toFixed(0)}\u202f%`;
}
function hex(n) { return "0x" + n.toString(16); }

function baseName(path) { return path.slice(path.lastIndexOf("/") + 1); }
function fileName(index) { return index >= 0 ? baseName(data.files[index].path) : "unknown"; }
/// The name without parameters and return type.
function plainName(full) {
  let name = full, depth = 0;
  for (let i = name.length - 1; i >= 0; --i) { // parameters: the last parentheses outside of <>
    if (name[i] === ")") ++depth;
    if (name[i] === "(" && --depth === 0) { name = name.slice(0, i); break; }
    if (depth === 0 && name[i] === ">") break;
  }
  depth = 0;
  let from = 0;
  for (let i = 0; i < name.length; ++i) {
    if (name[i] === "<" || name[i] === "(") ++depth;
    if (name[i] === ">" || name[i] === ")") --depth;
    if (name[i] === " " && depth === 0) from = i + 1;
  }
  return name.slice(from) || full;
}
/// Template arguments up to a depth, and "…" in place of what is deeper.
function upToDepth(name, deepest) {
  let text = "", depth = 0;
  for (const c of name) {
    if (c === "<" && ++depth === deepest + 1) text += "<…";
    else if (c === ">" && depth > 0 && depth-- === deepest + 1) { text += ">"; continue; }
    if (depth <= deepest) text += c;
  }
  return text;
}
function hashOf(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return (value >>> 0).toString(16).padStart(8, "0");
}
/// The last template arguments of a name as far as there is room for them, the others left out.
function withSomeArguments(name, room) {
  const open = lastGroup(name), close = name.lastIndexOf(">");
  if (open < 0 || close < open) return "";
  const head = upToDepth(name.slice(0, open), 0), tail = name.slice(close + 1), inner = upToDepth(name.slice(open + 1, close), 1);
  const left = room - head.length - tail.length - 3;
  return left < 10 ? "" : `${head}<${inner.slice(0, left).replace(/[\s,]+$/, "")}…>${tail}`;
}
/// Where the outermost "<" of the last template arguments is.
function lastGroup(name) {
  let depth = 0, at = -1;
  for (let i = 0; i < name.length; ++i) {
    if (name[i] === "<" && depth++ === 0) at = i;
    if (name[i] === ">" && depth > 0) --depth;
  }
  return at;
}
/// In so many characters. Where template arguments are left out, four digits tell it from others.
function shortened(full, width = 56) {
  const name = plainName(full);
  if (name.length <= width) return name;
  const mark = ` #${hashOf(full).slice(0, 4)}`;
  for (let depth = 8; depth >= 0; --depth) {
    const cut = upToDepth(name, depth);
    if (cut.length + mark.length <= width) return (depth === 0 && withSomeArguments(name, width - mark.length) || cut) + mark;
  }
  const cut = upToDepth(name, 0), room = width - mark.length - 1, head = Math.ceil(room / 2);
  return `${cut.slice(0, head)}…${cut.slice(cut.length - (room - head))}${mark}`;
}
const shortNames = data.kernels.map((kernel) => shortened(kernel.name));
function shortKernel(index) { return shortNames[index]; }
/// What stands for a kernel in a link: its name, or where that is long or not the only one, a number made from it.
const kernelKeys = (() => {
  const names = data.kernels.map((kernel) => plainName(kernel.name)), times = new Map();
  for (const name of names) times.set(name, (times.get(name) || 0) + 1);
  return names.map((name, i) => name.length <= 60 && times.get(name) === 1 ? name : hashOf(data.kernels[i].name));
})();
/// A name that may be long: short, and whole when it is asked for.
function wholeName(full, width = 56) {
  const short = shortened(full, width);
  return short === full ? el("span", {class: "mono"}, full)
    : el("details", {class: "whole"}, el("summary", {class: "mono", title: full.length < 600 ? full : null}, short), el("div", {class: "mono"}, full));
}
function place(access) {
  return `${fileName(access.file)}:${access.line}${access.column ? ":" + access.column : ""}`;
}
function sourceLine(file, line) {
  const lines = file >= 0 ? data.files[file].lines : null;
  return lines && lines[line - 1] !== undefined ? lines[line - 1] : "";
}
function efficiency(needed, used) { return used ? Math.min(1, needed / used) : null; }
/// Lines or turns too many, and atomics that wait for another lane at their address.
function wasteOf(access) {
  return (access.space === "lds" ? access.conflicts : access.wasted) + (access.op === "atomic" ? access.same_address : 0);
}
function wasteText(access) {
  if (access.op === "atomic" && access.same_address) return `${count(access.same_address)} lanes wait`;
  if (access.space === "lds") return `${count(access.conflicts)} bank conflicts`;
  return `${count(access.wasted)} wasted cache lines`;
}
/// A share as a small bar and a number.
function meter(share) {
  if (share === null || share === undefined) return "–";
  return [el("span", {class: "meter", "aria-hidden": "true"}, el("i", {style: {width: `${100 * share}%`}})), el("span", {class: "share"}, percent(share))];
}
function cssColor(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// What dispatches are compared by. Times of the software GPU are those of the machine it runs on: there it is instructions.
const software = data.software;
const amounts = software ? data.dispatches.executed : data.dispatches.duration;
const amountName = software ? "Instructions" : "Time";
function amountText(n) { return n === null || n === undefined ? "–" : software ? brief(Math.round(n)) : time(n); }
/// A time that a kernel took; nothing where that would be this machine's.
function gpuTime(ns) { return software ? "–" : time(ns); }
function plural(n, word, more = `${word}s`) { return `${count(n)} ${n === 1 ? word : more}`; }

// Kernels keep their color everywhere: the six that take most have one of their own.
const kernelTime = data.kernels.map(() => 0);
data.dispatches.kernel.forEach((kernel, i) => { kernelTime[kernel] += amounts[i] || 0; });
const kernelRank = data.kernels.map(() => 6);
[...kernelTime.keys()].sort((a, b) => kernelTime[b] - kernelTime[a]).slice(0, 6)
  .forEach((kernel, rank) => { kernelRank[kernel] = rank; });

const tip = {
  node: document.getElementById("tip"),
  show(x, y, text) {
    this.node.textContent = text;
    this.node.hidden = false;
    const box = this.node.getBoundingClientRect();
    this.node.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    this.node.style.top = `${y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18}px`;
  },
  hide() { this.node.hidden = true; },
};
