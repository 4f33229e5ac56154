// What happened over time. With the application's side: threads with calls and markers, queues with kernels, copies, and arrows from
// calls to what they caused. Without it: dispatches by queue. Below it, tables of the same.

const timelineView = {};

/// What can be on a row: columns with start and duration, and what is said of each.
const timelineSources = {
  dispatch: {columns: data.dispatches, name: (i) => shortKernel(data.dispatches.kernel[i]), text: dispatchText, facts: dispatchFacts,
    color: (i) => `--k${kernelRank[data.dispatches.kernel[i]]}`, ink: "--card"},
  span: {columns: host && host.spans, name: spanName, text: spanText, facts: spanFacts,
    color: (i) => host.spans.error[i] ? "--waste-soft" : host.spans.marker[i] ? "--line" : "--data-soft", ink: "--ink"},
  operation: {columns: host && host.operations, name: (i) => shortName(hostName(host.operations.name[i])), text: operationText, facts: operationFacts,
    color: (i) => host.operations.kind[i] === 0 ? `--k${hostRank.get(host.operations.name[i])}` : "--k6", ink: "--card"},
};

/// Rows of bars that do not overlap, for each place in order: {source, label, bars: [index…] in order of start}.
function overlapRows(columns, indexes, placeOf, labelOf, source) {
  const places = new Map();
  for (const i of indexes.filter((n) => columns.start[n] !== null).sort((a, b) => columns.start[a] - columns.start[b])) {
    const place = placeOf(i), key = place.join(" ");
    if (!places.has(key)) places.set(key, {place, label: labelOf(i), rows: []});
    const rows = places.get(key).rows, end = columns.start[i] + columns.duration[i];
    let row = rows.find((r) => r.until <= columns.start[i]);
    if (!row) {
      if (rows.length >= 6) row = rows[rows.length - 1]; // deeper overlaps share the last row
      else rows.push(row = {until: 0, bars: []});
    }
    row.bars.push(i);
    row.until = Math.max(row.until, end);
  }
  const sorted = [...places.values()].sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1]);
  return sorted.flatMap((place) => place.rows.map((row, i) => ({source, label: i === 0 ? place.label : "", bars: row.bars})));
}

function timelineRows() {
  if (host) return hostRows();
  const d = data.dispatches, several = new Set(d.agent).size > 1;
  return overlapRows(d, [...d.id.keys()], (i) => [d.agent[i], d.queue[i]], (i) => `${several ? `agent ${d.agent[i]} ` : ""}queue ${d.queue[i]}`, "dispatch");
}

function dispatchAmount(i) { return software ? `${count(data.dispatches.executed[i])} instructions` : time(data.dispatches.duration[i]); }

function dispatchText(i) {
  const d = data.dispatches, share = d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]);
  return `${shortKernel(d.kernel[i])}\ndispatch ${d.id[i]}, ${d.variants[d.variant[i]]}, ${dispatchAmount(i)}\n` +
    `grid ${d.grid[i].join(" × ")}, workgroup ${d.workgroup[i].join(" × ")}` +
    (share === null ? "" : `\n${percent(share)} of the cache lines used were needed` + (d.conflicts[i] ? `, ${count(d.conflicts[i])} bank conflicts` : ""));
}

function timelinePanel() {
  const rows = timelineRows();
  if (rows.length === 0 && !hasDispatches) return el("p", {class: "empty"}, "No dispatch was seen.");
  const panel = el("div", {}, software || (data.host && data.host.software) ? el("p", {class: "soft", id: "whose-times"}, data.profile && data.profile.critical_path && data.profile.critical_path.modeled ? `The software GPU ran this; ${data.profile.critical_path.times}.` : `The software GPU ran this: bars show the time that this machine took, and say nothing about a card.${software ? " Compare instructions." : ""}`) : null);
  if (rows.length) {
    const endOf = (row, i) => { const c = timelineSources[row.source].columns; return c.start[i] + c.duration[i]; };
    // What HIP does when the process ends comes long after all else.
    const isEnd = (row, i) => row.source === "span" && spanName(i) === "__hipUnregisterFatBinary";
    const last = Math.max(...rows.map((row) => row.bars.reduce((most, i) => isEnd(row, i) ? most : Math.max(most, endOf(row, i)), 0)), 1);
    const rowHeight = rows.length > 40 ? 13 : rows.length > 12 ? 18 : 30;
    const longest = Math.max(...rows.map((row) => row.label.length));
    const view = new Viewport({label: "timeline", height: 30 + rows.length * rowHeight + 6, x: [0, last],
      draw: (context, width) => drawTimeline(context, width, view, rows, rowHeight),
      onpoint: (px, py) => { const found = barAt(view, rows, rowHeight, px, py); return found ? timelineSources[found.source].text(found.i) : ""; },
      onclick: (px, py) => { const found = barAt(view, rows, rowHeight, px, py); choose(found && found.source, found && found.i); }});
    view.top = 28;
    view.left = longest > 8 ? 116 : 72;
    view.smallestX = 10;
    Object.assign(timelineView, {view, rows, rowHeight, rowOf: rowsByBar(rows)});
    panel.append(el("div", {class: "tools"}, view.buttons, el("span", {class: "grow"})), view.node, timelineLegend(),
      el("p", {class: "keys"}, "Wheel or + and − zoom, dragging or arrow keys move, 0 shows everything." + (host ? " Arrows lead from a call to its GPU work; click to show those of one item." : "")));
    if (host && host.totals.omitted) panel.append(el("p", {class: "soft"}, `${count(host.totals.omitted)} more are not shown.`));
  }
  timelineView.detail = el("div", {});
  panel.append(timelineView.detail);
  if (host) {
    panel.append(el("h2", {}, "On the GPU"), operationTable().node, el("h2", {}, "Calls and markers"), spanTable().node);
  } else panel.append(el("h2", {}, "Dispatches"), dispatchTable().node);
  return panel;
}

function rowsByBar(rows) {
  const found = {span: [], operation: [], dispatch: []};
  rows.forEach((row, r) => { for (const i of row.bars) found[row.source][i] = r; });
  return found;
}

/// The first bar of a row that may reach beyond `t`: in a row bars follow each other.
function firstBar(row, t) {
  const c = timelineSources[row.source].columns;
  let low = 0, high = row.bars.length;
  while (low < high) { const mid = (low + high) >> 1; if (c.start[row.bars[mid]] + c.duration[row.bars[mid]] < t) low = mid + 1; else high = mid; }
  return low;
}
function barAt(view, rows, rowHeight, px, py) {
  const row = rows[Math.floor((py - view.top) / rowHeight)];
  if (!row || px < view.left) return null;
  const c = timelineSources[row.source].columns, t = view.fromX(px), slack = (view.x[1] - view.x[0]) / view.innerWidth * 2;
  let low = 0, high = row.bars.length;
  while (low < high) { const mid = (low + high) >> 1; if (c.start[row.bars[mid]] <= t + slack) low = mid + 1; else high = mid; }
  const i = row.bars[low - 1];
  return i !== undefined && c.start[i] + c.duration[i] >= t - slack ? {source: row.source, i} : null;
}

function timelineLegend() {
  const item = (color, text) => el("span", {}, el("i", {style: {background: `var(${color})`}}), text);
  if (!host) return kernelLegend();
  const shown = [...hostRank].filter(([, rank]) => rank < 6).sort((a, b) => a[1] - b[1]);
  return el("div", {class: "legend"}, shown.map(([name, rank]) => item(`--k${rank}`, shortName(hostName(name)))), item("--k6", "copies, fills and other kernels"),
    data.profile && data.profile.critical_path && data.profile.critical_path.path ? item("--waste", "critical path, above the rows") : null, item("--data-soft", "calls"), host.spans.marker.includes(1) ? item("--line", "markers") : null, host.totals.errors ? item("--waste-soft", "calls that failed") : null);
}
function kernelLegend() {
  const shown = [...kernelRank.keys()].filter((k) => kernelRank[k] < 6 && kernelTime[k] > 0).sort((a, b) => kernelRank[a] - kernelRank[b]);
  const items = shown.map((k) => el("span", {}, el("i", {style: {background: `var(--k${kernelRank[k]})`}}), shortKernel(k)));
  if (data.kernels.length > 6) items.push(el("span", {}, el("i", {style: {background: "var(--k6)"}}), "others"));
  return el("div", {class: "legend"}, items);
}

function drawTimeline(context, width, view, rows, rowHeight) {
  const colors = new Map(), color = (name) => { if (!colors.has(name)) colors.set(name, cssColor(name)); return colors.get(name); };
  const chosen = timelineView.chosen;
  view.drawTimeAxis(context, width);
  rows.forEach((row, r) => {
    const source = timelineSources[row.source], c = source.columns;
    const gap = rowHeight > 14 ? 3 : 1, top = view.top + r * rowHeight + gap, height = rowHeight - 2 * gap;
    context.fillStyle = color("--soft");
    context.textBaseline = "middle";
    if (row.label) context.fillText(row.label, 14, top + height / 2);
    context.save();
    context.beginPath();
    context.rect(view.left, 0, width, view.height);
    context.clip();
    let drawn = -1; // bars thinner than a pixel: one for each pixel is enough
    for (let n = firstBar(row, view.x[0]); n < row.bars.length; ++n) {
      const i = row.bars[n];
      if (c.start[i] > view.x[1]) break;
      const from = view.toX(c.start[i]), to = view.toX(c.start[i] + c.duration[i]);
      if (to < drawn + 1 && to - from < 1) continue;
      const bar = Math.max(1, to - from);
      context.fillStyle = color(source.color(i));
      context.globalAlpha = !chosen || isChosen(row.source, i) ? 1 : 0.45;
      context.fillRect(from, top, bar > 3 ? bar - 0.5 : bar, height);
      drawn = to;
      if (bar > 46 && rowHeight > 16) {
        context.fillStyle = color(source.ink);
        context.save();
        context.beginPath();
        context.rect(Math.max(from, view.left), top, Math.min(to, width) - Math.max(from, view.left) - 4, height);
        context.clip();
        context.fillText(source.name(i), Math.max(from, view.left) + 6, top + height / 2 + 0.5);
        context.restore();
      }
    }
    context.globalAlpha = 1;
    context.restore();
  });
  drawCriticalPath(context, view, color);
  if (host) drawArrows(context, width, view, rowHeight);
}

/// Above the rows: a line where the critical path is, thicker where it is on the GPU.
function drawCriticalPath(context, view, color) {
  const path = data.profile && data.profile.critical_path;
  if (!host || !path || !path.path) return;
  const begin = Number(BigInt(path.begin_ns) - BigInt(host.first_ns));
  context.save();
  context.beginPath();
  context.rect(view.left, 0, view.innerWidth, view.height);
  context.clip();
  context.fillStyle = color("--waste");
  for (const [from, to, onGpu] of path.path) {
    const left = view.toX(begin + from), right = view.toX(begin + to);
    if (right >= view.left && left <= view.left + view.innerWidth) context.fillRect(left, view.top - (onGpu ? 4 : 2), Math.max(1, right - left), onGpu ? 4 : 2);
  }
  context.restore();
}

/// The chosen one, and what belongs to it.
function isChosen(source, i) {
  const {chosen} = timelineView;
  if (chosen.source === source && chosen.i === i) return true;
  if (chosen.source === "span" && source === "operation") return host.operations.span[i] === chosen.i;
  return chosen.source === "operation" && source === "span" && host.operations.span[chosen.i] === i;
}

const mostArrows = 60;
/// From calls to what they caused: of the chosen one, or of all in view if they are few.
function drawArrows(context, width, view, rowHeight) {
  const o = host.operations, s = host.spans, {chosen, rowOf} = timelineView;
  let list = [];
  if (chosen) list = chosen.source === "operation" ? [chosen.i] : operationsOf(chosen.i).slice(0, 400);
  else {
    for (const row of timelineView.rows.filter((one) => one.source === "operation"))
      for (let n = firstBar(row, view.x[0]); n < row.bars.length && o.start[row.bars[n]] <= view.x[1] && list.length <= mostArrows; ++n) list.push(row.bars[n]);
    if (list.length > mostArrows) return;
  }
  context.save();
  context.beginPath();
  context.rect(view.left, view.top, width, view.height);
  context.clip();
  context.strokeStyle = context.fillStyle = cssColor("--soft");
  context.globalAlpha = chosen ? 0.95 : 0.5;
  const middle = (row) => view.top + row * rowHeight + rowHeight / 2;
  for (const i of list) {
    const call = o.span[i];
    if (call === null || rowOf.span[call] === undefined) continue;
    const fromX = view.toX(s.start[call] + Math.min(s.duration[call], Math.max(0, o.start[i] - s.start[call]))), toX = view.toX(o.start[i]);
    const fromY = middle(rowOf.span[call]) + rowHeight / 2 - 3, toY = middle(rowOf.operation[i]) - rowHeight / 2 + 4;
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX, (fromY + toY) / 2, toX, (fromY + toY) / 2, toX, toY - 4);
    context.stroke();
    context.beginPath();
    context.moveTo(toX, toY);
    context.lineTo(toX - 3, toY - 6);
    context.lineTo(toX + 3, toY - 6);
    context.fill();
  }
  context.restore();
}

/// Shows what is known of one; `around`: and brings it into view.
function choose(source, i, around = false) {
  timelineView.chosen = source ? {source, i} : undefined;
  const {view} = timelineView;
  if (view) view.draw();
  if (!source) return timelineView.detail.replaceChildren();
  const {columns, facts} = timelineSources[source];
  if (around && view && columns.start[i] !== null) {
    let from = columns.start[i], to = columns.start[i] + columns.duration[i];
    const call = source === "operation" ? host.operations.span[i] : null;
    if (call !== null) from = Math.min(from, host.spans.start[call]); // with the arrow
    const margin = Math.max((to - from) * (source === "dispatch" ? 4 : 1), 1000);
    view.set([from - margin, to + margin]);
  }
  timelineView.detail.replaceChildren(el("div", {class: "card detail", style: {margin: "12px 0", border: "1px solid var(--line)"}},
    el("dl", {class: "facts"}, facts(i).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))));
}

function dispatchFacts(i) {
  const d = data.dispatches, share = d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]);
  const facts = [["kernel", data.kernels[d.kernel[i]].name], ["dispatch", `${d.id[i]}, ${d.variants[d.variant[i]]}${d.complete[i] ? "" : ", had not ended"}`],
    software ? ["executed", d.executed[i] === null ? "not known" : `${count(d.executed[i])} instructions by waves, ${count(d.lanes_executed[i])} by lanes`]
      : ["time", d.start[i] === null ? "not known" : `${time(d.duration[i])}, from ${time(d.start[i])} on`],
    ["grid", `${d.grid[i].join(" × ")} work-items in workgroups of ${d.workgroup[i].join(" × ")}${d.lds[i] ? `, ${bytes(d.lds[i])} of LDS` : ""}`],
    ["records", `${count(d.records[i])}, ${bytes(d.bytes[i])}${d.dropped[i] ? `, ${count(d.dropped[i])} dropped` : ""}`]];
  if (share !== null) facts.push(["memory", `${count(d.needed[i])} cache lines needed, ${count(d.used[i])} used (${percent(share)}), ${count(d.conflicts[i])} bank conflicts`]);
  return facts;
}

function dispatchTable() {
  const d = data.dispatches;
  return new VirtualTable({label: "dispatches", rows: [...d.id.keys()], sortBy: 0, ascending: true,
    filterText: (i) => `${d.id[i]} ${data.kernels[d.kernel[i]].name} ${d.variants[d.variant[i]]} queue ${d.queue[i]}`,
    onopen: (i) => choose("dispatch", i, true),
    columns: [
      {name: "Id", width: "3.6rem", narrow: "3rem", number: true, of: (i) => d.id[i], text: (i) => count(d.id[i])},
      {name: "Kernel", width: "minmax(0,3fr)", mono: true, of: (i) => shortKernel(d.kernel[i]), text: (i) => shortKernel(d.kernel[i]), hint: (i) => data.kernels[d.kernel[i]].name},
      {name: "Queue", width: "4rem", number: true, wide: true, of: (i) => d.queue[i], text: (i) => count(d.queue[i])},
      ...(software ? [] : [{name: "Start", width: "6rem", number: true, wide: true, of: (i) => d.start[i], text: (i) => time(d.start[i])}]),
      {name: software ? "Instructions" : "Duration", width: "6.4rem", narrow: "5rem", number: true, of: (i) => amounts[i], text: (i) => amountText(amounts[i])},
      {name: "Grid", width: "minmax(0,1.4fr)", wide: true, number: true, of: (i) => d.grid[i][0] * d.grid[i][1] * d.grid[i][2], text: (i) => d.grid[i].join(" × ")},
      {name: "Variant", width: "7rem", wide: true, of: (i) => d.variants[d.variant[i]], text: (i) => baseName(d.variants[d.variant[i]])},
      {name: "Records", width: "5.5rem", number: true, wide: true, of: (i) => d.records[i], text: (i) => count(d.records[i])},
      {name: "Lines needed", width: "7.5rem", narrow: "5.6rem", number: true, title: "cache lines needed of used", of: (i) => d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]),
        text: (i) => meter(d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]))},
    ]});
}
