// Memory over time: each allocation is a band, its rows are pieces of it, darker is more accesses.

const heatView = {kind: "all", allocation: -1};
// A cell is seven numbers: allocation, row, column, columns wide, reads, writes, atomics.
const heatCell = 7;
const heatKinds = {all: (c, i) => c[i + 4] + c[i + 5] + c[i + 6], reads: (c, i) => c[i + 4], writes: (c, i) => c[i + 5], atomics: (c, i) => c[i + 6]};

function memoryPanel() {
  const heat = data.heat;
  if (!heat || heat.allocations.length === 0) return el("p", {class: "empty"}, "No access to memory was recorded: run with instrumented kernels and the analyzer Heatmap.");
  const chooseAllocation = el("select", {"aria-label": "allocation", onchange: () => { heatView.allocation = Number(chooseAllocation.value); buildHeat(); }},
    el("option", {value: -1}, `all ${heat.allocations.length} allocations`),
    heat.allocations.map((a, i) => el("option", {value: i}, a.name)));
  const chooseKind = el("select", {"aria-label": "kind of access", onchange: () => { heatView.kind = chooseKind.value; heatView.view.draw(); }},
    Object.keys(heatKinds).map((kind) => el("option", {value: kind}, kind === "all" ? "all accesses" : kind)));
  heatView.holder = el("div", {});
  heatView.buttons = el("span", {});
  const table = new VirtualTable({label: "allocations", rows: heat.allocations, sortBy: 2, filterText: (a) => `${a.name} ${a.address}`,
    onopen: (a) => { heatView.allocation = heat.allocations.indexOf(a); chooseAllocation.value = heatView.allocation; buildHeat(); },
    columns: [
      {name: "Allocation", width: "minmax(0,2fr)", of: (a) => a.number, text: (a) => a.name},
      {name: "Address", width: "9rem", mono: true, wide: true, of: (a) => parseInt(a.address, 16), text: (a) => a.number ? a.address : "–"},
      {name: "Reads", width: "7rem", narrow: "4.2rem", number: true, of: (a) => a.reads, text: (a) => count(a.reads)},
      {name: "Writes", width: "7rem", narrow: "4rem", number: true, of: (a) => a.writes, text: (a) => count(a.writes)},
      {name: "Atomics", width: "7rem", narrow: "3.4rem", number: true, of: (a) => a.atomics, text: (a) => count(a.atomics)},
    ]});
  const panel = el("div", {}, el("div", {class: "tools"}, chooseAllocation, chooseKind, el("span", {class: "grow"}), heatView.buttons), heatView.holder,
    el("div", {class: "legend", id: "heat-legend"}),
    el("p", {class: "keys"}, `${software ? "Dispatches from left to right, each with its records in the order in which they arrived" : "Time from left to right, dispatch after dispatch without the gaps between them"}; addresses go down. Wheel or + and − zoom, arrow keys move, 0 shows everything.`),
    el("h2", {}, "Allocations"), table.node);
  heatView.legend = panel.querySelector("#heat-legend");
  buildHeat();
  return panel;
}

/// The bands that are shown: {index, name, from, rows}, in rows of the picture.
function heatBands() {
  const list = data.heat.allocations.map((a, index) => ({a, index})).filter(({index}) => heatView.allocation < 0 || index === heatView.allocation);
  // A small allocation beside a large one would be a hairline: every band gets at least a tenth.
  const most = Math.max(...list.map(({a}) => a.rows));
  let from = 0;
  return list.map(({a, index}) => {
    const rows = Math.max(a.rows, most / 10), band = {index, a, from, rows, scale: rows / a.rows};
    from += rows + most * 0.06;
    return band;
  });
}

function buildHeat() {
  const heat = data.heat, bands = heatBands(), last = bands[bands.length - 1];
  const view = new Viewport({label: "accesses by address and time", height: Math.max(220, Math.min(520, 90 + 90 * bands.length)),
    x: [0, heat.total_ns], y: [0, last.from + last.rows], draw: (context, width) => drawHeat(context, width, view, bands), onpoint: (px, py) => heatText(view, bands, px, py)});
  view.left = innerWidth < 720 ? 12 : 190;
  view.top = software ? 28 : 44;
  view.smallestX = heat.column_ns * 4;
  view.smallestY = 2;
  heatView.view = view;
  heatView.holder.replaceChildren(view.node);
  heatView.buttons.replaceChildren(view.buttons);
}

function mixColors(a, b, share) {
  const parse = (hexColor) => [1, 3, 5].map((i) => parseInt(hexColor.slice(i, i + 2), 16));
  const from = parse(a), to = parse(b);
  return `rgb(${from.map((value, i) => Math.round(value + (to[i] - value) * share)).join(",")})`;
}

/// "#5 in, 320 KiB of agent 1 from main (app.hip:40)": what it is, and who made it.
function labelOf(name) {
  const at = name.indexOf(" from ");
  const what = (at < 0 ? name : name.slice(0, at)).replace(/ of agent \d+$/, "");
  return [what, at < 0 ? "" : name.slice(at + 6)];
}

/// The text, or as much of it as has room.
function cutToFit(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) --length;
  return `${text.slice(0, length)}…`;
}

/// Kernels above their dispatches, where there is room for a name.
function drawDispatchNames(context, width, view) {
  context.fillStyle = cssColor("--soft");
  context.textBaseline = "middle";
  context.textAlign = "left";
  let last = -Infinity;
  for (const [, kernel, from, length] of data.heat.dispatches) {
    const left = Math.max(view.toX(from), view.left), room = Math.min(view.toX(from + length), width) - left - 8;
    if (room < 34 || left < last) continue;
    context.fillText(cutToFit(context, shortKernel(kernel), room), left + 4, view.top - 13);
    last = left;
  }
}

function drawHeat(context, width, view, bands) {
  const heat = data.heat, cells = heat.cells, valueOf = heatKinds[heatView.kind], byIndex = new Map(bands.map((band) => [band.index, band]));
  // Times of the software GPU are those of this machine: only the dispatches are named.
  if (!software) view.drawTimeAxis(context, width);
  drawDispatchNames(context, width, view);
  let most = 1; // accesses in a column's time
  for (let i = 0; i < cells.length; i += heatCell) if (byIndex.has(cells[i])) most = Math.max(most, valueOf(cells, i) / cells[i + 3]);
  const shades = [...Array(33).keys()].map((n) => mixColors(cssColor("--data-soft"), cssColor("--data"), n / 32)), scale = 32 / Math.log1p(most);
  context.save();
  context.beginPath();
  context.rect(view.left, view.top, width, view.height);
  context.clip();
  context.fillStyle = cssColor("--paper");
  for (const band of bands) context.fillRect(view.left, view.toY(band.from), width, view.toY(band.from + band.rows) - view.toY(band.from));
  for (let i = 0; i < cells.length; i += heatCell) {
    const band = byIndex.get(cells[i]), value = valueOf(cells, i) / cells[i + 3];
    if (!band || value === 0) continue;
    const x = view.toX(cells[i + 2] * heat.column_ns), right = view.toX((cells[i + 2] + cells[i + 3]) * heat.column_ns);
    if (right < view.left || x > width) continue;
    const y = view.toY(band.from + cells[i + 1] * band.scale), bottom = view.toY(band.from + (cells[i + 1] + 1) * band.scale);
    if (bottom < view.top || y > view.height) continue;
    context.fillStyle = shades[Math.round(Math.log1p(value) * scale)];
    context.fillRect(x, y, Math.max(1, right - x + 0.3), Math.max(1, bottom - y + (bottom - y > 6 ? -0.5 : 0.3)));
  }
  context.strokeStyle = cssColor("--soft");
  context.globalAlpha = 0.35;
  if (heat.dispatches.length < 400) for (const [, , from] of heat.dispatches) {
    const px = Math.round(view.toX(from)) + 0.5;
    context.beginPath(); context.moveTo(px, view.top); context.lineTo(px, view.height); context.stroke();
  }
  context.restore();
  context.textBaseline = "middle";
  for (const band of bands) {
    const top = Math.max(view.toY(band.from), view.top), bottom = Math.min(view.toY(band.from + band.rows), view.height);
    if (bottom - top < 10) continue;
    const narrow = view.left < 100, [first, second] = labelOf(band.a.name);
    context.fillStyle = cssColor(narrow ? "--card" : "--soft");
    if (narrow) { // on the picture, so it needs paper of its own
      context.globalAlpha = 0.85;
      context.fillRect(view.left, top, Math.min(width, context.measureText(first).width + 10), 18);
      context.globalAlpha = 1;
      context.fillStyle = cssColor("--ink");
    }
    const two = !narrow && second && bottom - top >= 30, middle = narrow ? top + 9 : (top + bottom) / 2 - (two ? 8 : 0), room = narrow ? width - 20 : view.left - 24;
    context.fillText(cutToFit(context, first, room), narrow ? view.left + 4 : 14, middle);
    if (two) context.fillText(cutToFit(context, second, room), 14, middle + 16);
  }
  const dot = (shade) => el("i", {style: {background: shades[shade]}});
  heatView.legend.replaceChildren(el("span", {}, dot(0), "1"), el("span", {}, dot(16), count(Math.round(Math.expm1(16 / scale)))), el("span", {}, dot(32), `${count(Math.round(most))} accesses by lanes${software ? "" : ` in ${time(heat.column_ns)}`}`));
}

function heatText(view, bands, px, py) {
  if (px < view.left || py < view.top) return "";
  const heat = data.heat, y = view.fromY(py), t = view.fromX(px), column = Math.floor(t / heat.column_ns);
  const band = bands.find((b) => y >= b.from && y < b.from + b.rows);
  if (!band) return "";
  const row = Math.floor((y - band.from) / band.scale), cells = heat.cells;
  const sum = [0, 0, 0];
  for (let i = 0; i < cells.length; i += heatCell)
    if (cells[i] === band.index && cells[i + 1] === row && cells[i + 2] <= column && column < cells[i + 2] + cells[i + 3])
      for (let k = 0; k < 3; ++k) sum[k] += cells[i + 4 + k];
  const mark = heat.dispatches.find(([, , from, length]) => t >= from && t < from + length);
  const where = band.a.number ? `${band.a.name}, from +${bytes(row * band.a.row_bytes)} on` : "in no allocation";
  return `${where}\n${count(sum[0])} reads, ${count(sum[1])} writes, ${count(sum[2])} atomics` + (mark ? `\n${shortKernel(mark[1])}, dispatch ${mark[0]}` : "");
}
