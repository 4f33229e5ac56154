// Dispatches over time: queues are rows, kernels are bars. Below it, every dispatch in a table.

const timelineView = {};

/// Rows of bars that do not overlap: {agent, queue, bars: [dispatch…] in order of start}.
function timelineRows() {
  const d = data.dispatches, queues = new Map();
  const order = [...d.id.keys()].filter((i) => d.start[i] !== null).sort((a, b) => d.start[a] - d.start[b]);
  for (const i of order) {
    const key = `agent ${d.agent[i]}, queue ${d.queue[i]}`;
    if (!queues.has(key)) queues.set(key, {agent: d.agent[i], queue: d.queue[i], rows: []});
    const rows = queues.get(key).rows, end = d.start[i] + d.duration[i];
    let row = rows.find((r) => r.until <= d.start[i]);
    if (!row) {
      if (rows.length >= 6) row = rows[rows.length - 1]; // deeper overlaps share the last row
      else rows.push(row = {until: 0, bars: []});
    }
    row.bars.push(i);
    row.until = Math.max(row.until, end);
  }
  const sorted = [...queues.values()].sort((a, b) => a.agent - b.agent || a.queue - b.queue);
  return sorted.flatMap((queue) => queue.rows.map((row, i) => ({agent: queue.agent, queue: queue.queue, label: i === 0 ? `queue ${queue.queue}` : "", bars: row.bars})));
}

function dispatchText(i) {
  const d = data.dispatches, share = d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]);
  return `${shortKernel(d.kernel[i])}\ndispatch ${d.id[i]}, ${d.variants[d.variant[i]]}, ${time(d.duration[i])}\n` +
    `grid ${d.grid[i].join(" × ")}, workgroup ${d.workgroup[i].join(" × ")}` +
    (share === null ? "" : `\n${percent(share)} of the cache lines used were needed` + (d.conflicts[i] ? `, ${count(d.conflicts[i])} extra LDS turns` : ""));
}

function timelinePanel() {
  const d = data.dispatches, rows = timelineRows();
  if (d.id.length === 0) return el("p", {class: "empty"}, "No dispatch was seen.");
  const panel = el("div", {});
  if (rows.length) {
    const agents = new Set(rows.map((row) => row.agent)).size;
    if (agents > 1) for (const row of rows) if (row.label) row.label = `agent ${row.agent} ${row.label}`;
    const last = Math.max(...rows.map((row) => row.bars.reduce((most, i) => Math.max(most, d.start[i] + d.duration[i]), 0)), 1);
    const rowHeight = rows.length > 12 ? 18 : 30;
    const hit = (px, py) => {
      const row = rows[Math.floor((py - view.top) / rowHeight)];
      if (!row || px < view.left) return -1;
      const t = view.fromX(px), slack = (view.x[1] - view.x[0]) / view.innerWidth * 2;
      let low = 0, high = row.bars.length;
      while (low < high) { const mid = (low + high) >> 1; if (d.start[row.bars[mid]] <= t + slack) low = mid + 1; else high = mid; }
      const i = row.bars[low - 1];
      return i !== undefined && d.start[i] + d.duration[i] >= t - slack ? i : -1;
    };
    const view = new Viewport({label: "timeline of dispatches", height: 30 + rows.length * rowHeight + 6, x: [0, last],
      draw: (context, width) => drawTimeline(context, width, view, rows, rowHeight),
      onpoint: (px, py) => { const i = hit(px, py); return i < 0 ? "" : dispatchText(i); },
      onclick: (px, py) => chooseDispatch(hit(px, py))});
    view.top = 28;
    view.left = agents > 1 ? 116 : 72;
    view.smallestX = 10;
    timelineView.view = view;
    panel.append(el("div", {class: "tools"}, view.buttons, el("span", {class: "grow"})), view.node, kernelLegend(),
      el("p", {class: "keys"}, "Wheel or + and − zoom, dragging or arrow keys move, 0 shows everything."));
  }
  timelineView.detail = el("div", {});
  panel.append(timelineView.detail, el("h2", {}, "Dispatches"), dispatchTable().node);
  return panel;
}

function kernelLegend() {
  const shown = [...kernelRank.keys()].filter((k) => kernelRank[k] < 6 && kernelTime[k] > 0).sort((a, b) => kernelRank[a] - kernelRank[b]);
  const items = shown.map((k) => el("span", {}, el("i", {style: {background: `var(--k${kernelRank[k]})`}}), shortKernel(k)));
  if (data.kernels.length > 6) items.push(el("span", {}, el("i", {style: {background: "var(--k6)"}}), "others"));
  return el("div", {class: "legend"}, items);
}

function drawTimeline(context, width, view, rows, rowHeight) {
  const d = data.dispatches, colors = [...Array(7).keys()].map((n) => cssColor(`--k${n}`)), ink = cssColor("--card");
  view.drawTimeAxis(context, width);
  rows.forEach((row, r) => {
    const top = view.top + r * rowHeight + 3, height = rowHeight - 6;
    context.fillStyle = cssColor("--soft");
    context.textBaseline = "middle";
    if (row.label) context.fillText(row.label, 14, top + height / 2);
    context.save();
    context.beginPath();
    context.rect(view.left, 0, width, view.height);
    context.clip();
    let low = 0, high = row.bars.length; // the first bar that may reach into view
    while (low < high) { const mid = (low + high) >> 1; if (d.start[row.bars[mid]] + d.duration[row.bars[mid]] < view.x[0]) low = mid + 1; else high = mid; }
    let drawn = -1; // bars thinner than a pixel: one for each pixel is enough
    for (let n = low; n < row.bars.length; ++n) {
      const i = row.bars[n];
      if (d.start[i] > view.x[1]) break;
      const from = view.toX(d.start[i]), to = view.toX(d.start[i] + d.duration[i]);
      if (to < drawn + 1 && to - from < 1) continue;
      const bar = Math.max(1, to - from);
      context.fillStyle = colors[kernelRank[d.kernel[i]]];
      context.globalAlpha = timelineView.chosen === undefined || timelineView.chosen === i ? 1 : 0.45;
      context.fillRect(from, top, bar > 3 ? bar - 0.5 : bar, height);
      drawn = to;
      if (bar > 46 && rowHeight > 20) {
        context.fillStyle = ink;
        context.save();
        context.beginPath();
        context.rect(Math.max(from, view.left), top, Math.min(to, width) - Math.max(from, view.left) - 4, height);
        context.clip();
        context.fillText(shortKernel(d.kernel[i]), Math.max(from, view.left) + 6, top + height / 2 + 0.5);
        context.restore();
      }
    }
    context.globalAlpha = 1;
    context.restore();
  });
}

function chooseDispatch(i) {
  timelineView.chosen = i >= 0 ? i : undefined;
  if (timelineView.view) timelineView.view.draw();
  if (!(i >= 0)) return timelineView.detail.replaceChildren();
  const d = data.dispatches, share = d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]);
  const facts = [["kernel", data.kernels[d.kernel[i]].name], ["dispatch", `${d.id[i]}, ${d.variants[d.variant[i]]}${d.complete[i] ? "" : ", had not ended"}`],
    ["time", d.start[i] === null ? "not known" : `${time(d.duration[i])}, from ${time(d.start[i])} on`],
    ["grid", `${d.grid[i].join(" × ")} work-items in workgroups of ${d.workgroup[i].join(" × ")}${d.lds[i] ? `, ${bytes(d.lds[i])} of LDS` : ""}`],
    ["records", `${count(d.records[i])}, ${bytes(d.bytes[i])}${d.dropped[i] ? `, ${count(d.dropped[i])} dropped` : ""}`]];
  if (share !== null) facts.push(["memory", `${count(d.needed[i])} cache lines needed, ${count(d.used[i])} used (${percent(share)}), ${count(d.conflicts[i])} extra LDS turns`]);
  timelineView.detail.replaceChildren(el("div", {class: "card detail", style: {margin: "12px 0", border: "1px solid var(--line)"}},
    el("dl", {class: "facts"}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))));
}

function dispatchTable() {
  const d = data.dispatches;
  return new VirtualTable({label: "dispatches", rows: [...d.id.keys()], sortBy: 0, ascending: true,
    filterText: (i) => `${d.id[i]} ${data.kernels[d.kernel[i]].name} ${d.variants[d.variant[i]]} queue ${d.queue[i]}`,
    onopen: (i) => {
      chooseDispatch(i);
      if (timelineView.view && d.start[i] !== null) {
        const around = Math.max(d.duration[i] * 4, 1000);
        timelineView.view.set([d.start[i] - around, d.start[i] + d.duration[i] + around]);
      }
    },
    columns: [
      {name: "Id", width: "3.6rem", narrow: "3rem", number: true, of: (i) => d.id[i], text: (i) => count(d.id[i])},
      {name: "Kernel", width: "minmax(0,3fr)", mono: true, of: (i) => shortKernel(d.kernel[i]), text: (i) => shortKernel(d.kernel[i]), hint: (i) => data.kernels[d.kernel[i]].name},
      {name: "Queue", width: "4rem", number: true, wide: true, of: (i) => d.queue[i], text: (i) => count(d.queue[i])},
      {name: "Start", width: "6rem", number: true, wide: true, of: (i) => d.start[i], text: (i) => time(d.start[i])},
      {name: "Duration", width: "6rem", narrow: "5rem", number: true, of: (i) => d.duration[i], text: (i) => time(d.duration[i])},
      {name: "Grid", width: "minmax(0,1.4fr)", wide: true, number: true, of: (i) => d.grid[i][0] * d.grid[i][1] * d.grid[i][2], text: (i) => d.grid[i].join(" × ")},
      {name: "Variant", width: "7rem", wide: true, of: (i) => d.variants[d.variant[i]], text: (i) => baseName(d.variants[d.variant[i]])},
      {name: "Records", width: "5.5rem", number: true, wide: true, of: (i) => d.records[i], text: (i) => count(d.records[i])},
      {name: "Lines needed", width: "7.5rem", narrow: "5.6rem", number: true, title: "cache lines needed of used", of: (i) => d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]),
        text: (i) => meter(d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]))},
    ]});
}
