// The source, line by line, with what it cost; the machine's instructions behind a line on request.

const sourceView = {node: null, file: -1, table: null};

/// What is known of each line of a file.
function linesOf(file) {
  const lines = new Map();
  const at = (line) => { if (!lines.has(line)) lines.set(line, {executions: null, lanes: 0, slots: 0, instructions: 0, needed: 0, used: 0, wasted: 0, conflicts: 0, accesses: [], isa: []}); return lines.get(line); };
  for (const access of data.accesses) {
    if (access.file !== file) continue;
    const line = at(access.line);
    line.accesses.push(access);
    line.needed += access.needed; line.used += access.used; line.wasted += access.wasted; line.conflicts += access.conflicts;
  }
  for (const [of, number, executions, lanes, slots, instructions] of data.lines)
    if (of === file) Object.assign(at(number), {executions, lanes, slots, instructions});
  // Without block counts the accesses of a line tell how often it ran at least.
  for (const line of lines.values())
    if (line.executions === null && line.accesses.length) line.executions = Math.max(...line.accesses.map((a) => a.executions));
  for (const code of data.code)
    for (const instruction of code.instructions)
      if (instruction[3] === file && instruction[4]) at(instruction[4]).isa.push({kernel: code.kernel, offset: instruction[0], text: instruction[1], unit: instruction[2], executions: instruction[6], lanes: instruction[7]});
  return lines;
}

function sourcePanel() {
  const used = new Set([...data.accesses.map((a) => a.file), ...data.lines.map((l) => l[0])].filter((file) => file >= 0 && data.files[file].lines));
  for (const code of data.code) for (const i of code.instructions) if (i[3] >= 0 && data.files[i[3]].lines) used.add(i[3]);
  if (used.size === 0)
    return el("p", {class: "empty"}, "No source to show: compile with -gline-tables-only, and make the report where the source files are.");
  const weight = (file) => data.accesses.reduce((sum, a) => sum + (a.file === file ? 1 + wasteOf(a) : 0), 0);
  const order = [...used].sort((a, b) => weight(b) - weight(a));
  const select = el("select", {"aria-label": "source file", onchange: () => showFile(Number(select.value))},
    order.map((file) => el("option", {value: file}, data.files[file].path)));
  sourceView.select = select;
  sourceView.body = el("div", {class: "source card"});
  showFile(order[0]);
  return el("div", {}, el("div", {class: "tools"}, select), sourceView.body,
    el("p", {class: "keys"}, "Enter or a click on a line shows its accesses and the instructions behind it; arrow keys go from line to line."));
}

function showFile(file) {
  sourceView.file = file;
  sourceView.lines = linesOf(file);
  const text = data.files[file].lines, known = sourceView.lines;
  const most = Math.max(1, ...[...known.values()].map((line) => line.wasted + line.conflicts));
  // Long files: only the neighbourhood of what ran.
  const near = new Set();
  if (text.length > 3000) for (const n of known.keys()) for (let i = n - 12; i <= n + 12; ++i) near.add(i);
  const rows = [];
  let skipped = false;
  text.forEach((code, index) => {
    const number = index + 1;
    if (near.size && !near.has(number)) { skipped = true; return; }
    if (skipped) { rows.push(el("tr", {}, el("td", {class: "no"}, "⋯"), el("td", {colspan: data.counts.length ? "6" : "5"}))); skipped = false; }
    rows.push(lineRow(number, code, known.get(number), most));
  });
  const heads = [["", ""], ...(data.counts.length ? [["work", "share of all instructions that waves executed, as compiled"]] : []), ["runs", "executions by waves"], ["lanes", "share of the wave's lanes that were active", "wide"], ["needed", "cache lines needed of those used"], ["turns", "extra LDS turns"], ["", ""]];
  sourceView.body.replaceChildren(el("table", {},
    el("thead", {}, el("tr", {}, heads.map(([name, title, kind]) => el("th", {title, class: kind}, name)))),
    el("tbody", {onkeydown: sourceKey}, rows)));
}

function lineRow(number, code, line, most) {
  const can = line && (line.accesses.length || line.isa.length);
  const waste = line ? line.wasted + line.conflicts : 0;
  const share = line ? efficiency(line.needed, line.used) : null;
  const row = el("tr", {class: `${can ? "can" : ""}${waste ? " hot" : ""}`, tabindex: can ? "0" : null, "data-line": number, "aria-expanded": can ? "false" : null,
    style: waste ? {"--share": `${(6 + 94 * waste / most).toFixed(1)}%`} : {}, onclick: can ? () => toggleLine(row) : null},
    el("td", {class: "no"}, String(number)),
    data.counts.length ? el("td", {"data-is": "work"}, line && line.instructions ? percent(line.instructions / allExecuted()) : "") : null,
    el("td", {"data-is": "runs"}, line && line.executions !== null ? count(line.executions) : ""),
    el("td", {class: "soft wide"}, line && line.slots ? percent(line.lanes / line.slots) : ""),
    el("td", {class: share !== null && share < 0.8 ? "waste" : ""}, share !== null ? percent(share) : ""),
    el("td", {class: "waste"}, line && line.conflicts ? count(line.conflicts) : ""),
    el("td", {class: "code"}, code));
  return row;
}

function toggleLine(row) {
  if (row.nextSibling && row.nextSibling.classList.contains("behind")) {
    row.nextSibling.remove();
    row.classList.remove("open");
    row.setAttribute("aria-expanded", "false");
    return;
  }
  const line = sourceView.lines.get(Number(row.dataset.line));
  row.classList.add("open");
  row.setAttribute("aria-expanded", "true");
  row.after(el("tr", {class: "behind"}, el("td", {colspan: data.counts.length ? "7" : "6"}, el("div", {class: "inner"}, line.accesses.map(accessNote), isaList(line.isa)))));
}

function accessNote(access) {
  const cost = access.space === "lds" ? `${count(access.conflicts)} extra turns` : `${count(access.needed)} lines needed, ${count(access.used)} used`;
  const index = data.patterns.findIndex((p) => isPatternOf(p, access));
  return el("div", {class: "note"}, `${shortKernel(access.kernel)}, column ${access.column}: ${access.space === "lds" ? "LDS " : ""}${access.op} of ${access.bytes || "several"} bytes, `,
    `${count(access.executions)} executions, ${cost}. `, access.advice + " ",
    index >= 0 ? el("button", {type: "button", onclick: (event) => { event.stopPropagation(); openLanes(access); }}, "see the lanes") : null);
}

/// Instructions that waves executed, of all kernels.
function allExecuted() { return Math.max(1, data.counts.reduce((sum, one) => sum + one.executions, 0)); }

function isaList(instructions) {
  if (instructions.length === 0)
    return data.code.length ? el("div", {class: "note"}, "No instruction of the original kernel comes from this line.") : el("div", {class: "note"}, "The machine code was not found: fadeprobe report --code APPLICATION shows it.");
  const kernels = [...new Set(instructions.map((i) => i.kernel))];
  return kernels.map((kernel) => {
    const own = instructions.filter((i) => i.kernel === kernel), code = data.code.find((c) => c.kernel === kernel);
    const counts = data.counts.find((c) => c.kernel === kernel);
    const counted = counts ? (i) => el("span", {class: "soft", title: "executions by waves; active lanes"}, i.executions === undefined ? "" : `${count(i.executions)} × ${i.executions ? percent(i.lanes / i.executions / counts.wave_size) : "0"}`) : null;
    return [el("div", {class: "note"}, `${own.length} of ${code.count} instructions of ${shortKernel(kernel)} on ${code.target}, as compiled` + (counts ? ": executions by waves × share of their lanes" : ", without instrumentation")),
      el("div", {class: counts ? "isa counted" : "isa"}, own.slice(0, 400).map((i) => [counts ? counted(i) : null, el("span", {class: "soft"}, "+" + hex(i.offset)), el("span", {class: "unit"}, i.unit), el("span", {}, i.text)]))];
  });
}

function sourceKey(event) {
  const row = event.target.closest("tr.can");
  if (!row || event.target.tagName === "BUTTON") return;
  const rows = [...sourceView.body.querySelectorAll("tr.can")], at = rows.indexOf(row);
  const next = {ArrowDown: at + 1, ArrowUp: at - 1}[event.key];
  if (event.key === "Enter" || event.key === " ") toggleLine(row);
  else if (next !== undefined && rows[next]) rows[next].focus();
  else if (next === undefined) return;
  event.preventDefault();
}

/// From elsewhere: shows the line, opened.
function openSource(file, line) {
  if (file < 0 || !data.files[file].lines || !sourceView.select) return showTab("source");
  showTab("source");
  if (sourceView.file !== file) { sourceView.select.value = file; showFile(file); }
  const row = sourceView.body.querySelector(`tr[data-line="${line}"]`);
  if (!row) return;
  if (!row.classList.contains("open") && row.classList.contains("can")) toggleLine(row);
  row.scrollIntoView({block: "center"});
  row.focus({preventScroll: true});
}
