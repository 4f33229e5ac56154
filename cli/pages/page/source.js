// The source, line by line, with what it cost; the machine's instructions behind a line on request. Of all kernels, or of one.

/// What colors the lines: [id, name, of(line)]. The first that says something is shown at first.
const heats = [
  ["waste", "waste", (line) => line.wasted + line.conflicts + line.waiting],
  ["instructions", "executed instructions", (line) => line.instructions],
  ["clocks", "clocks in blocks", (line) => line.clocks],
  ["idle", "inactive lanes", (line) => Math.max(0, line.slots - line.lanes)],
  ["runs", "runs", (line) => line.executions || 0],
];

function emptyLine() {
  return {executions: null, lanes: 0, slots: 0, instructions: 0, clocks: 0, needed: 0, used: 0, wasted: 0, conflicts: 0, waiting: 0, accesses: [], isa: [], twin: []};
}

/// What is known of each line of a file, of all kernels or of one.
function linesOf(file, kernel = null) {
  const lines = new Map(), isOwn = (of) => kernel === null || of === kernel;
  const at = (line) => { if (!lines.has(line)) lines.set(line, emptyLine()); return lines.get(line); };
  for (const access of data.accesses) {
    if (access.file !== file || !isOwn(access.kernel)) continue;
    const line = at(access.line);
    line.accesses.push(access);
    line.needed += access.needed; line.used += access.used; line.wasted += access.wasted; line.conflicts += access.conflicts;
    if (access.op === "atomic") line.waiting += access.same_address;
  }
  if (kernel === null) {
    for (const [of, number, executions, lanes, slots, instructions] of data.lines)
      if (of === file) Object.assign(at(number), {executions, lanes, slots, instructions});
  }
  for (const flow of data.flows) {
    if (!isOwn(flow.kernel)) continue;
    for (const block of flow.blocks)
      for (const number of new Set(block.lines.filter(([of]) => of === file).map(([, n]) => n))) {
        if (!number) continue;
        const line = at(number);
        line.clocks += block.clocks || 0;
        if (kernel === null) continue;
        line.executions = (line.executions || 0) + block.executions;
        line.lanes += block.lanes;
        line.slots += block.executions * flow.wave_size;
      }
  }
  // Without block counts the accesses of a line tell how often it ran at least.
  for (const line of lines.values())
    if (line.executions === null && line.accesses.length) line.executions = Math.max(...line.accesses.map((a) => a.executions));
  for (const code of data.code) {
    if (!isOwn(code.kernel)) continue;
    for (const [offset, text, unit, of, number, , executions, lanes] of code.instructions)
      if (of === file && number) {
        at(number).isa.push({kernel: code.kernel, offset, text, unit, executions, lanes});
        if (kernel !== null) at(number).instructions += executions || 0;
      }
    for (const [offset, text, unit, of, number] of code.twin ? code.twin.instructions : [])
      if (of === file && lines.has(number)) lines.get(number).twin.push({kernel: code.kernel, offset, text, unit});
  }
  return lines;
}

/// Files that something is known of, the most wasteful first.
function sourceFilesOf(kernel = null) {
  const isOwn = (of) => kernel === null || of === kernel, weight = new Map();
  const add = (file, n) => { if (file >= 0 && data.files[file].lines) weight.set(file, (weight.get(file) || 0) + n); };
  for (const access of data.accesses) if (isOwn(access.kernel)) add(access.file, 1000 + wasteOf(access));
  if (kernel === null) for (const [file] of data.lines) add(file, 1);
  else for (const flow of data.flows) if (isOwn(flow.kernel)) for (const block of flow.blocks) for (const [file] of block.lines) add(file, 1);
  for (const code of data.code) if (isOwn(code.kernel)) for (const i of code.instructions) add(i[3], 1);
  return [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a));
}

class SourceView {
  constructor(kernel = null) {
    this.kernel = kernel;
    this.files = sourceFilesOf(kernel);
    if (this.files.length === 0) {
      this.node = el("p", {class: "empty"}, "No source: compile with -gline-tables-only, and make the report where the source files are.");
      return;
    }
    this.select = el("select", {"aria-label": "source file", onchange: () => this.show(Number(this.select.value))},
      this.files.map((file) => el("option", {value: file}, data.files[file].path)));
    this.heatSelect = el("select", {"aria-label": "color lines by", onchange: () => { this.heat = this.heatSelect.value; this.show(this.file); }});
    this.body = el("div", {class: "source card"});
    this.legend = el("p", {class: "keys"});
    this.show(this.files[0]);
    this.node = el("div", {}, el("div", {class: "tools"}, this.select, this.heatSelect, el("span", {class: "grow"}), exportButtons(`source ${kernel === null ? "" : shortKernel(kernel)}`, () => this.content())), this.legend, this.body,
      el("p", {class: "keys"}, "Enter or a click on a line shows its accesses and the instructions behind it; arrow keys select a line."));
  }

  show(file) {
    this.file = file;
    this.lines = linesOf(file, this.kernel);
    const known = [...this.lines.values()];
    const choices = heats.filter(([, , of]) => known.some((line) => of(line) > 0));
    if (!choices.some(([id]) => id === this.heat)) this.heat = choices.length ? choices[0][0] : "waste";
    this.heatSelect.replaceChildren(...choices.map(([id, name]) => el("option", {value: id, selected: id === this.heat}, `heat: ${name}`)));
    this.heatSelect.hidden = choices.length < 2;
    const chosen = choices.find(([id]) => id === this.heat);
    this.legend.textContent = chosen ? `Shading of a line: its ${chosen[1]}, relative to the line with the most.` : "";
    const heatOf = (heats.find(([id]) => id === this.heat) || heats[0])[2];
    const most = Math.max(1, ...known.map(heatOf)), text = data.files[file].lines;
    this.allExecuted = Math.max(1, this.kernel === null ? data.counts.reduce((sum, one) => sum + one.executions, 0) : known.reduce((sum, line) => sum + line.instructions, 0));
    this.hasWork = known.some((line) => line.instructions > 0);
    this.hasClocks = known.some((line) => line.clocks > 0);
    // Long files, and the source of one kernel: only the neighborhood of what ran.
    const near = new Set(), around = this.kernel === null ? 12 : 4;
    if (text.length > (this.kernel === null ? 3000 : 120)) for (const n of this.lines.keys()) for (let i = n - around; i <= n + around; ++i) near.add(i);
    const heads = this.heads(), rows = [];
    let skipped = false;
    text.forEach((code, index) => {
      const number = index + 1;
      if (near.size && !near.has(number)) { skipped = true; return; }
      if (skipped) { rows.push(el("tr", {}, el("td", {class: "no"}, "⋯"), el("td", {colspan: heads.length - 1}))); skipped = false; }
      rows.push(this.row(number, code, this.lines.get(number), heatOf, most));
    });
    this.body.replaceChildren(el("table", {},
      el("thead", {}, el("tr", {}, heads.map(([name, title, kind]) => el("th", {title, class: kind}, name)))),
      el("tbody", {onkeydown: (event) => this.key(event)}, rows)));
  }

  heads() {
    return [["", ""], ...(this.hasWork ? [["work", "share of the instructions that waves executed, as compiled"]] : []), ["runs", "executions by waves"],
      ["lanes", "share of the wave's lanes that were active", "wide"], ...(this.hasClocks ? [["clocks", "of the blocks that the line is in, until the wave's next block; with the writing of records", "wide"]] : []),
      ["needed", "cache lines needed of those used"], ["conflicts", "bank conflicts"], ["", ""]];
  }

  cells(line) {
    const share = line ? efficiency(line.needed, line.used) : null;
    return [...(this.hasWork ? [[line && line.instructions ? percent(line.instructions / this.allExecuted) : "", "", "work"]] : []),
      [line && line.executions !== null ? count(line.executions) : "", "", "runs"],
      [line && line.slots ? percent(line.lanes / line.slots) : "", "soft wide"],
      ...(this.hasClocks ? [[line && line.clocks ? brief(line.clocks) : "", "soft wide"]] : []),
      [share !== null ? percent(share) : "", share !== null && share < 0.8 ? "waste" : ""],
      [line && line.conflicts ? count(line.conflicts) : "", "waste"]];
  }

  row(number, code, line, heatOf, most) {
    const can = line && (line.accesses.length || line.isa.length), heat = line ? heatOf(line) : 0;
    const row = el("tr", {class: `${can ? "can" : ""}${heat ? ` hot heat-${this.heat}` : ""}`, tabindex: can ? "0" : null, "data-line": number, "aria-expanded": can ? "false" : null,
      style: heat ? {"--share": `${(6 + 94 * heat / most).toFixed(1)}%`} : {}, onclick: can ? () => this.toggle(row) : null},
      el("td", {class: "no"}, String(number)),
      this.cells(line).map(([text, kind, is]) => el("td", {class: kind, "data-is": is}, text)),
      el("td", {class: "code"}, code));
    return row;
  }

  content() {
    const heads = ["line", ...this.heads().slice(1, -1).map(([name]) => name), "source"], text = data.files[this.file].lines;
    const rows = [...this.lines.keys()].sort((a, b) => a - b).map((n) => [n, ...this.cells(this.lines.get(n)).map(([cell]) => cell.replaceAll("\u202f", "")), text[n - 1] || ""]);
    return {heads, raw: rows, shown: rows};
  }

  toggle(row) {
    if (row.nextSibling && row.nextSibling.classList.contains("behind")) {
      row.nextSibling.remove();
      row.classList.remove("open");
      row.setAttribute("aria-expanded", "false");
      return;
    }
    const line = this.lines.get(Number(row.dataset.line));
    row.classList.add("open");
    row.setAttribute("aria-expanded", "true");
    row.after(el("tr", {class: "behind"}, el("td", {colspan: this.heads().length}, el("div", {class: "inner"}, line.accesses.map(accessNote), isaList(line)))));
    keepPlace(this.kernel === null ? {source: baseName(data.files[this.file].path), line: row.dataset.line} : {kernel: kernelKeys[this.kernel], line: row.dataset.line});
  }

  key(event) {
    const row = event.target.closest("tr.can");
    if (!row || event.target.tagName === "BUTTON") return;
    const rows = [...this.body.querySelectorAll("tr.can")], at = rows.indexOf(row);
    const next = {ArrowDown: at + 1, ArrowUp: at - 1}[event.key];
    if (event.key === "Enter" || event.key === " ") this.toggle(row);
    else if (next !== undefined && rows[next]) rows[next].focus();
    else if (next === undefined) return;
    event.preventDefault();
  }

  /// Shows the line, opened. False if it is not here.
  open(file, line) {
    if (!this.select || file < 0 || !data.files[file].lines) return false;
    if (this.file !== file) { this.select.value = file; this.show(file); }
    const row = this.body.querySelector(`tr[data-line="${line}"]`);
    if (!row) return false;
    if (!row.classList.contains("open") && row.classList.contains("can")) this.toggle(row);
    row.scrollIntoView({block: "center"});
    row.focus({preventScroll: true});
    return true;
  }
}

function accessNote(access) {
  const cost = access.space === "lds" ? `${count(access.conflicts)} extra cycles` : `${count(access.needed)} lines needed, ${count(access.used)} used`;
  return el("div", {class: "note"}, `${shortKernel(access.kernel)}, column ${access.column}: ${access.space === "lds" ? "LDS " : ""}${access.op} of ${access.bytes || "several"} bytes, `,
    `${plural(access.executions, "execution")}, ${cost}. `, access.advice + " ",
    patternsOf(access).length ? el("button", {type: "button", onclick: (event) => { event.stopPropagation(); openLanes(access); }}, "see the lanes") : null);
}

/// The instructions of a line, kernel by kernel, as compiled; and those of the twin, which has line tables only with -g.
function isaList(line) {
  if (line.isa.length === 0)
    return data.code.length ? el("div", {class: "note"}, "No instruction of the original kernel comes from this line.") : el("div", {class: "note"}, "The machine code was not found: fadeprobe report --code APPLICATION shows it.");
  const kernels = [...new Set(line.isa.map((i) => i.kernel))];
  return kernels.map((kernel) => {
    const own = line.isa.filter((i) => i.kernel === kernel), code = data.code.find((c) => c.kernel === kernel);
    const counts = data.counts.find((c) => c.kernel === kernel);
    return [el("div", {class: "note"}, `${own.length} of ${plural(code.count, "instruction")} of ${shortKernel(kernel)} on ${code.target}, as compiled` + (counts ? ": executions by waves × share of their lanes" : ", without instrumentation")),
      isaRows(own, counts), twinRows(line.twin.filter((i) => i.kernel === kernel), code)];
  });
}

function twinRows(own, code) {
  if (own.length === 0) return null;
  return el("details", {class: "missing", onclick: (event) => event.stopPropagation()}, el("summary", {}, `${own.length} of ${plural(code.twin.count, "instruction")} of the instrumented twin`), isaRows(own, null));
}

function isaRows(instructions, counts) {
  const counted = (i) => el("span", {class: "soft", title: "executions by waves; active lanes"}, i.executions === undefined ? "" : `${count(i.executions)} × ${i.executions ? percent(i.lanes / i.executions / counts.wave_size) : "0"}`);
  return el("div", {class: counts ? "isa counted" : "isa"}, instructions.slice(0, 400).map((i) => [counts ? counted(i) : null, el("span", {class: "soft"}, "+" + hex(i.offset)), el("span", {class: "unit"}, i.unit), el("span", {}, i.text)]));
}

const sourceView = {all: null};
function sourcePanel() {
  sourceView.all = new SourceView();
  return el("div", {}, sourceView.all.node);
}

/// From elsewhere: shows the line, opened.
function openSource(file, line) {
  showTab("source");
  if (sourceView.all) sourceView.all.open(file, line);
}
