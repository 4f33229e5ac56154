// A run of many processes: how evenly work is spread over ranks, then one rank. Strips have a column per rank (or for several, the
// greatest of them); nothing here grows with the number of events.

const per = data.per_column, columns = Math.ceil(data.units / per);
function rankName(index) { return data.names ? data.names[index] : `rank ${index}`; }
/// What a column of a strip stands for.
function columnName(column) {
  const first = column * per, last = Math.min(first + per, data.units) - 1;
  return first === last ? rankName(first) : `${rankName(first)} to ${rankName(last)}`;
}
function mixed(share) { return `color-mix(in oklab, var(--data) ${Math.round(100 * share)}%, var(--data-soft))`; }

/// A canvas that is drawn again when the theme or its size changes.
function strip(height, label, draw, hint) {
  const canvas = el("canvas", {class: "strip", height, role: "img", "aria-label": label, style: {height: `${height}px`}});
  const paint = () => {
    const width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio)), tall = Math.round(height * devicePixelRatio);
    if (canvas.clientWidth === 0) return;
    canvas.width = width;
    canvas.height = tall;
    draw(canvas.getContext("2d"), width, tall);
  };
  new ResizeObserver(paint).observe(canvas);
  document.addEventListener("themechange", paint);
  const columnAt = (event) => Math.max(0, Math.min(columns - 1, Math.floor(columns * event.offsetX / canvas.clientWidth)));
  canvas.addEventListener("mousemove", (event) => tip.show(event.clientX, event.clientY, hint(columnAt(event))));
  canvas.addEventListener("mouseleave", () => tip.hide());
  canvas.addEventListener("click", (event) => { openRank(columnAt(event) * per); event.stopPropagation(); });
  return canvas;
}
function edges(column, width) { const from = Math.floor(column * width / columns); return [from, Math.max(1, Math.floor((column + 1) * width / columns) - from)]; }

/// A row of a table as a heat strip: the darker, the nearer to the rank with most.
function heatStrip(row) {
  return strip(18, `${row.name}: time by rank`, (context, width, height) => {
    const probe = el("i", {style: {display: "none"}}), colors = [];
    document.body.append(probe);
    for (let i = 0; i <= 16; ++i) { probe.style.color = mixed(i / 16); colors.push(getComputedStyle(probe).color); }
    probe.remove();
    for (let i = 0; i < columns; ++i) {
      const [x, w] = edges(i, width);
      context.fillStyle = colors[Math.round(16 * row.strip[i] / 999)];
      context.fillRect(x, 0, w, height);
    }
  }, (column) => `${columnName(column)}: ${time(row.strip[column] / 999 * row.most)}`);
}

/// Where the time of each rank goes, one column each.
function timeStrip() {
  const parts = [["busy", "--data"], ["in_hip", "--waste"], ["elsewhere", "--data-soft"]];
  const value = (name, i) => data.parts[name].strip[i] / 999 * data.parts[name].most;
  return el("div", {}, strip(140, "time of each rank", (context, width, height) => {
    for (let i = 0; i < columns; ++i) {
      const [x, w] = edges(i, width);
      let bottom = height;
      for (const [name, color] of parts) {
        const h = height * value(name, i) / (data.parts.span.most || 1);
        context.fillStyle = cssColor(color);
        context.fillRect(x, bottom - h, columns * 3 < width ? w - 1 : w, h);
        bottom -= h;
      }
    }
  }, (column) => `${columnName(column)}: ${time(value("span", column))}; GPU busy ${time(value("busy", column))}, idle in HIP ${time(value("in_hip", column))}, idle elsewhere ${time(value("elsewhere", column))}`),
  el("div", {class: "legend"}, [["--data", "GPU busy"], ["--waste", "idle in a HIP call"], ["--data-soft", "idle elsewhere: own code, files, waiting for other ranks"]]
    .map(([color, text]) => el("span", {}, el("i", {style: {background: `var(${color})`}}), text))));
}

const ratio = (row) => row.median ? row.most / row.median : null;
function spreadTable(table) {
  const fixed = (value) => value === null ? "–" : value.toFixed(2);
  return new VirtualTable({label: table.title, rows: table.rows, sortBy: 3, filterText: (row) => row.name, rowHeight: 34, columns: [
    {name: table.title, width: "minmax(110px, 2fr)", mono: true, of: (row) => row.name, text: (row) => shortened(row.name, 32), hint: (row) => row.name, whole: (row) => row.name},
    {name: `${rankName(0)} … ${rankName(data.units - 1)}`, width: "minmax(170px, 4fr)", narrow: "minmax(80px, 2fr)", title: "time by rank: darker is closer to the rank with most", of: ratio, text: heatStrip, whole: (row) => row.strip.join(" ")},
    {name: "Count", width: "76px", number: true, wide: true, of: (row) => row.count, text: (row) => brief(row.count, [1e3, "k"]), hint: (row) => count(row.count)},
    {name: "Total", width: "76px", number: true, of: (row) => row.total, text: (row) => time(row.total)},
    {name: "Median", width: "76px", number: true, wide: true, title: "of single launches or calls, within 12 %", of: (row) => row.middle, text: (row) => time(row.middle), hint: (row) => `99 %: ${time(row.late)}`},
    {name: "Most", width: "76px", number: true, wide: true, title: "time of the rank with most", of: (row) => row.most, text: (row) => time(row.most), hint: (row) => `least ${time(row.least)}, median ${time(row.median)}`},
    {name: "Imbalance", width: "86px", number: true, title: "time of the rank with most / of the median rank", of: ratio, text: (row) => fixed(ratio(row))},
    {name: "By", width: "78px", wide: true, of: (row) => row.by, text: (row) => rankName(row.by)},
  ]}).node;
}

/// What a rank does longer than the median rank, by name.
function excessOf(index) {
  const column = Math.floor(index / per), found = [];
  for (const table of data.tables)
    for (const row of table.rows) {
      const own = row.strip[column] / 999 * row.most;
      if (own - row.median > 0.001 * data.parts.span.median) found.push({of: table.title, name: row.name, own, median: row.median});
    }
  return found.sort((a, b) => (b.own - b.median) - (a.own - a.median)).slice(0, 8);
}

const rankPanel = el("section", {id: "rank"});
function openRank(index) {
  const row = data.rows.find((each) => each[0] === index);
  const nodes = [el("h2", {}, rankName(index))];
  if (row) {
    const [, host, span, busy, inHip, elsewhere, kernels, copies, calls, page] = row;
    nodes.push(el("p", {}, `${host}: ${time(span)}, of which the GPU is busy ${time(busy)}, idle in HIP calls ${time(inHip)}, idle elsewhere ${time(elsewhere)}. `
      + `${plural(kernels, "kernel")}, ${plural(copies, "copy", "copies")}, ${plural(calls, "call")}.`));
    nodes.push(el("p", {}, page ? el("a", {href: page}, `Timeline and kernels of ${rankName(index)}`)
      : ["Its timeline: ", el("code", {}, `fadeprobe report ${data.run} --ranks ${rankName(index).replace(/^rank /, "")}`), " makes it, and this page again with a link."]));
  }
  const excess = excessOf(index);
  nodes.push(el("p", {}, excess.length ? `Longer than the median rank${per > 1 ? " (the most of the ranks that share its column)" : ""}:` : "Nothing takes longer here than on the median rank."));
  nodes.push(el("ul", {}, excess.map((each) => el("li", {}, el("span", {class: "mono"}, shortened(each.name, 60)), `: ${time(each.own)}, median ${time(each.median)}`))));
  rankPanel.replaceChildren(...nodes);
  history.replaceState(null, "", `#rank=${index}`);
  rankPanel.scrollIntoView({block: "nearest"});
}

function rankTable() {
  const column = (name, at, text, more = {}) => ({name, width: "minmax(80px, 1fr)", number: true, of: (row) => row[at], text: (row) => text(row[at]), ...more});
  return new VirtualTable({label: "Ranks", rows: data.rows, sortBy: 2, filterText: (row) => `${rankName(row[0])} ${row[1]}`, onopen: (row) => openRank(row[0]), columns: [
    {name: "Rank", width: "minmax(90px, 1fr)", of: (row) => row[0], text: (row) => rankName(row[0])},
    {name: "Host", width: "minmax(90px, 1fr)", wide: true, of: (row) => row[1], text: (row) => row[1]},
    column("Time", 2, time), column("GPU busy", 3, time), column("Idle in HIP", 4, time), column("Idle elsewhere", 5, time),
    column("Kernels", 6, count, {wide: true}), column("Copies", 7, count, {wide: true}), column("Calls", 8, count, {wide: true}),
    {name: "Page", width: "70px", of: (row) => row[9] ? 1 : 0, text: (row) => row[9] ? el("a", {href: row[9], onclick: (event) => event.stopPropagation()}, "timeline") : ""},
  ]}).node;
}

function collectiveTable() {
  const share = (row) => row[2] ? row[3] / row[2] : null;
  return new VirtualTable({label: "Collective calls", rows: data.collectives, sortBy: 3, filterText: (row) => row[0], columns: [
    {name: "Function", width: "minmax(130px, 2fr)", mono: true, of: (row) => row[0], text: (row) => row[0]},
    {name: "Count", width: "minmax(70px, 1fr)", number: true, of: (row) => row[1], text: (row) => count(row[1])},
    {name: "Time in it", width: "minmax(80px, 1fr)", number: true, title: "of all ranks", of: (row) => row[2], text: (row) => time(row[2])},
    {name: "Waiting", width: "minmax(80px, 1fr)", number: true, title: "for the rank that arrived last, of all ranks", of: (row) => row[3], text: (row) => time(row[3])},
    {name: "Share", width: "minmax(110px, 1fr)", number: true, wide: true, of: share, text: (row) => meter(share(row))},
    {name: "Latest after", width: "minmax(90px, 1fr)", number: true, wide: true, title: "longest time between first and last arrival", of: (row) => row[4], text: (row) => time(row[4])},
    {name: "Last most often", width: "minmax(130px, 2fr)", of: (row) => row[5], text: (row) => `${rankName(row[5])} (${count(row[6])} of ${count(row[1])})`},
  ]}).node;
}

function adviceTable() {
  const gains = (row) => row.least === row.most ? percent(row.most) : `${percent(row.least)} to ${percent(row.most)}`;
  return new VirtualTable({label: "What to change", rows: data.advice, sortBy: 2, rowHeight: 56, below: (row) => row.advice, filterText: (row) => `${row.kernel} ${row.cause} ${row.place}`, columns: [
    {name: "Cause", width: "minmax(120px, 2fr)", of: (row) => row.cause, text: (row) => row.cause},
    {name: "Kernel", width: "minmax(140px, 3fr)", mono: true, of: (row) => row.kernel, text: (row) => shortened(row.kernel, 40), whole: (row) => row.kernel},
    {name: "Gain", width: "minmax(100px, 1fr)", number: true, title: "of the rank's kernel time, least to most over ranks", of: (row) => row.most, text: gains},
    {name: "Ranks", width: "minmax(90px, 1fr)", of: (row) => row.processes, text: (row) => row.ranks || plural(row.processes, "process", "processes")},
    {name: "First place", width: "minmax(110px, 2fr)", wide: true, of: (row) => row.place, text: (row) => baseName(row.place), hint: (row) => row.place},
  ]}).node;
}

function startRun() {
  document.getElementById("title").textContent = data.title;
  document.title = `${data.title} – FADE`;
  document.getElementById("help").remove();
  document.getElementById("tabs").remove();
  const tile = (name, value, note) => el("div", {class: "tile"}, el("div", {class: "name"}, name), el("div", {class: "value"}, value), el("div", {class: "note"}, note));
  const {span, busy} = data.parts;
  const lost = busy.most ? 1 - busy.mean / busy.most : null;
  const main = document.getElementById("panels");
  main.append(el("div", {class: "tiles"},
    tile("Ranks", count(data.units), `${plural(data.processes, "process", "processes")} on ${plural(data.hosts, "host")}`),
    tile("Slowest rank", time(span.most), `${rankName(span.by)}; median ${time(span.median)}`),
    tile("GPU busy, most", time(busy.most), `${rankName(busy.by)}; median ${time(busy.median)}`),
    tile("GPU imbalance", percent(lost), "of all GPUs' time waiting for the busiest, if all wait for it"),
    tile("Kernels and copies", brief(data.operations), `${brief(data.calls)} HIP calls`)));
  const said = [...(data.slowest ? [`Slowest: ${data.slowest}.`] : []), ...data.stragglers.slice(0, 3).map((text) => `Straggler: ${text}.`),
    ...(data.straggler_count > 3 ? [`And ${count(data.straggler_count - 3)} more stragglers${data.straggler_hosts ? `; all are on ${data.straggler_hosts}` : ""}.`] : []), ...(data.path ? [`Critical path across ranks, ${data.path}.`] : []), `Clocks: ${data.clocks}.`, ...data.problems, ...data.notes];
  main.append(el("div", {id: "said", style: {"margin-top": "16px"}}, said.map((text) => el("p", {}, text))));
  main.append(el("h2", {}, "Time by rank"), timeStrip());
  if (data.advice.length) main.append(el("h2", {}, "What to change"), adviceTable());
  if (data.collectives.length) main.append(el("h2", {}, "Collective calls"), collectiveTable());
  for (const table of data.tables.filter((each) => each.rows.length)) {
    main.append(el("h2", {}, `${table.title} × ranks`), spreadTable(table));
    if (table.more) main.append(el("p", {class: "soft"}, `${count(table.more)} more take less time: fadeprobe log ${data.run} --rows ${count(table.rows.length + table.more)}`));
  }
  main.append(el("h2", {}, data.rows.length < data.units ? `The ${count(data.rows.length)} slowest ranks` : "Ranks"), rankTable(), rankPanel);
  document.getElementById("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme());
  setTheme();
  const chosen = /^#rank=(\d+)$/.exec(location.hash);
  openRank(chosen && Number(chosen[1]) < data.units ? Number(chosen[1]) : span.by);
  if (!chosen) scrollTo(0, 0);
  document.documentElement.dataset.ready = "true";
}
startRun();
