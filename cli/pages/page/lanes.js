// One execution of an access, lane by lane. Memory is drawn as it lies: a row for each cache line, or
// for each row of LDS banks, a cell for every four bytes, and in it the lane that touches it.

const lanesView = {access: null, which: "worst", lane: -1};

/// Examples of each access, found at once although there may be many thousands of both.
const patternsOf = (() => {
  const keyOf = (one) => [one.kernel, one.file, one.line, one.column, one.op, one.bytes, one.space].join(" "), found = new Map();
  for (const pattern of data.patterns) { const key = keyOf(pattern); if (!found.has(key)) found.set(key, []); found.get(key).push(pattern); }
  return (access) => found.get(keyOf(access)) || [];
})();

function lanesPanel() {
  const withPattern = data.accesses.filter((access) => patternsOf(access).length > 0);
  if (withPattern.length === 0) return el("p", {class: "empty"}, "No examples were recorded: they come with fadeprobe --report, or with the analyzer AccessPatterns.");
  lanesView.all = withPattern;
  lanesView.access = withPattern[0];
  // The most wasteful are in the list; others come to it when they are opened.
  const select = el("select", {"aria-label": "access", onchange: () => { lanesView.access = withPattern[select.value]; lanesView.lane = -1; drawLanes(); }},
    withPattern.slice(0, 1000).map(lanesOption));
  const which = el("select", {"aria-label": "which execution", onchange: () => { lanesView.which = which.value; drawLanes(); }},
    el("option", {value: "worst"}, "worst execution"), el("option", {value: "first"}, "first execution"));
  Object.assign(lanesView, {select, whichSelect: which, holder: el("div", {class: "lanes card"}), note: el("p", {}), status: el("p", {class: "soft", role: "status"})});
  drawLanes();
  return el("div", {}, el("div", {class: "tools"}, select, which), lanesView.note, lanesView.holder, lanesView.status,
    el("p", {class: "keys"}, "Left and right arrow keys select a lane."));
}

function lanesOption(access, i) {
  return el("option", {value: i}, `${place(access)} ${access.space === "lds" ? "LDS " : ""}${access.op}, ${shortKernel(access.kernel)}`);
}

function openLanes(access) {
  showTab("lanes");
  lanesView.access = access;
  const index = lanesView.all.indexOf(access);
  if (!lanesView.select.querySelector(`option[value="${index}"]`)) lanesView.select.append(lanesOption(access, index));
  lanesView.select.value = index;
  lanesView.lane = -1;
  drawLanes();
  lanesView.select.focus();
}

/// Active lanes as numbers.
function lanesOf(mask) {
  const bits = BigInt(mask), lanes = [];
  for (let lane = 0; lane < 64; ++lane) if ((bits >> BigInt(lane)) & 1n) lanes.push(lane);
  return lanes;
}

/// Cells of four bytes: {row, column, lanes: […]}, keyed by dword.
function cellsOf(pattern) {
  const rowBytes = pattern.space === "lds" ? pattern.banks * 4 : pattern.line_size, lanes = lanesOf(pattern.mask), cells = new Map();
  pattern.offsets.forEach((offset, i) => {
    for (let dword = Math.floor(offset / 4); dword <= Math.floor((offset + pattern.lane_bytes - 1) / 4); ++dword) {
      if (!cells.has(dword)) cells.set(dword, {row: Math.floor(dword * 4 / rowBytes), column: dword % (rowBytes / 4), lanes: []});
      cells.get(dword).lanes.push(lanes[i]);
    }
  });
  return {rowBytes, columns: rowBytes / 4, cells};
}

/// Which lanes LDS serves together, as the analyzers count them.
function laneSet(pattern, lane) {
  const perTurn = Math.max(1, pattern.banks / 32);
  if (pattern.lane_bytes <= 4) return Math.floor(lane / 32 / perTurn);
  if (pattern.lane_bytes <= 8) return Math.floor(lane / 16 / perTurn);
  const quad = Math.floor((lane % 32) / 4), half = Math.floor(lane / 32);
  return Math.floor((half * 4 + [0, 1, 2, 3, 1, 0, 3, 2][quad]) / perTurn);
}

/// LDS: cells whose bank has to deliver another row to the same set of lanes.
function clashes(pattern, {cells}) {
  const byBank = new Map(), found = new Set();
  for (const [dword, cell] of cells)
    for (const lane of cell.lanes) {
      const key = `${cell.column} ${laneSet(pattern, lane)}`;
      if (!byBank.has(key)) byBank.set(key, new Set());
      byBank.get(key).add(dword);
    }
  for (const dwords of byBank.values()) if (dwords.size > 1) for (const dword of dwords) found.add(dword);
  return found;
}

function drawLanes() {
  const access = lanesView.access, own = patternsOf(access);
  const pattern = own.find((p) => p.which === lanesView.which) || own[0], lds = pattern.space === "lds";
  const lanes = lanesOf(pattern.mask), layout = cellsOf(pattern), clash = lds ? clashes(pattern, layout) : new Set();
  const rows = [...new Set([...layout.cells.values()].map((cell) => cell.row))].sort((a, b) => a - b);
  const where = pattern.workgroup ? `, workgroup ${pattern.workgroup.join(", ")}` : "";
  lanesView.note.textContent = (lds
    ? `${plural(lanes.length, "lane")}, ${plural(layout.cells.size, "dword")} in ${new Set([...layout.cells.values()].map((cell) => cell.column)).size} of ${pattern.banks} banks: ` +
      (pattern.conflicts ? `${plural(pattern.conflicts, "extra cycle")} because of bank conflicts.` : "no extra cycles.")
    : `${plural(lanes.length, "lane")} ${lanes.length === 1 ? "touches" : "touch"} ${plural(pattern.lines_used, "cache line")} of ${pattern.line_size} bytes; ${count(pattern.lines_needed)} would hold all their bytes.`) +
    ` Dispatch ${pattern.dispatch_id}${where}.`;
  // On a phone a row fits the screen, without room for numbers: a tap tells the lane.
  const small = innerWidth < 640, cell = small ? Math.max(4, (innerWidth - 118) / layout.columns) : 21, height = small ? 11 : 18, left = small ? 56 : 92, top = 22, gaps = [];
  let y = top;
  const tops = new Map();
  rows.forEach((row, i) => {
    if (i > 0 && row !== rows[i - 1] + 1) { gaps.push([y + 5, row - rows[i - 1] - 1]); y += 14; }
    tops.set(row, y);
    y += height + 2;
  });
  const width = left + layout.columns * cell + 12;
  const svg = el("svg", {viewBox: `0 0 ${width} ${y + 6}`, class: small ? "small" : null, style: {"max-width": `${Math.round(width * (small ? 1 : 1.25))}px`}, role: "img", tabindex: "0", "aria-label": lanesView.note.textContent, onkeydown: (event) => laneKey(event, lanes)});
  for (let c = 0; c < layout.columns; ++c)
    if (c % (small ? 8 : lds ? 1 : 4) === 0) svg.append(el("text", {x: left + c * cell + cell / 2, y: 13, "text-anchor": "middle", class: "soft"}, lds ? String(c) : `+${c * 4}`));
  svg.append(el("text", {x: left - 10, y: 13, "text-anchor": "end", class: "soft"}, lds ? "bank" : "byte"));
  for (const row of rows) {
    svg.append(el("text", {x: left - 10, y: tops.get(row) + (small ? 9 : 13), "text-anchor": "end", class: "soft"}, `+${hex(row * layout.rowBytes)}`));
    for (let c = 0; c < layout.columns; ++c) svg.append(el("rect", {class: "hole", x: left + c * cell + 1, y: tops.get(row), width: cell - (small ? 1 : 2), height, rx: small ? 1 : 2}));
  }
  for (const [dword, one] of layout.cells) {
    const x = left + one.column * cell + 1, label = one.lanes.length === 1 ? String(one.lanes[0]) : `×${one.lanes.length}`;
    const chosen = lanesView.lane >= 0 && one.lanes.includes(lanesView.lane);
    svg.append(el("g", {onclick: () => { lanesView.lane = one.lanes[0]; drawLanes(); }},
      el("rect", {class: `${clash.has(dword) ? "clash" : "used"}${chosen ? " chosen" : ""}`, x, y: tops.get(one.row), width: cell - (small ? 1 : 2), height, rx: small ? 1 : 2, "data-lanes": one.lanes.join(" ")}),
      small ? null : el("text", {x: x + (cell - 2) / 2, y: tops.get(one.row) + 12.5, "text-anchor": "middle"}, label),
      el("title", {}, `lane ${one.lanes.join(", ")}`)));
  }
  for (const [at, skipped] of gaps) svg.append(el("text", {x: left, y: at + 4, class: "soft"}, `⋯ ${count(skipped)} ${skipped === 1 ? "row" : "rows"} untouched`));
  const focused = document.activeElement && document.activeElement.closest && document.activeElement.closest(".lanes");
  const scroll = lanesView.holder.firstChild ? lanesView.holder.firstChild.scrollTop : 0;
  lanesView.holder.replaceChildren(el("div", {class: "scroll"}, svg));
  lanesView.holder.firstChild.scrollTop = scroll;
  if (focused) svg.focus({preventScroll: true});
  const i = lanes.indexOf(lanesView.lane);
  lanesView.status.textContent = i >= 0
    ? `Lane ${lanesView.lane}: ${pattern.lane_bytes} bytes at ${hex(BigInt(pattern.base) + BigInt(pattern.offsets[i]))}, ` +
      (lds ? `bank ${Math.floor(pattern.offsets[i] / 4) % layout.columns}.` : `cache line +${hex(Math.floor(pattern.offsets[i] / layout.rowBytes) * layout.rowBytes)}.`)
    : lds ? "Orange cells have to wait for another row of their bank." : "Hollow cells are fetched and not used by this access.";
}

function laneKey(event, lanes) {
  const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
  if (!step) return;
  const at = lanes.indexOf(lanesView.lane);
  lanesView.lane = lanes[at < 0 ? (step > 0 ? 0 : lanes.length - 1) : Math.max(0, Math.min(lanes.length - 1, at + step))];
  event.preventDefault();
  drawLanes();
}
