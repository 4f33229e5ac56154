// The application's side: calls and markers of its threads, what the GPU did for them, operators, and who asks whom.

const host = data.host;
const hasDispatches = data.dispatches.id.length > 0;

const hostName = (index) => host.names[index];
/// A kernel's color is the one it has elsewhere on the page; without dispatches the six that take most time have one.
const hostRank = (() => {
  if (!host) return new Map();
  const o = host.operations, total = new Map(), known = new Map(data.kernels.map((kernel, i) => [kernel.name, kernelRank[i]]));
  o.name.forEach((name, i) => { if (o.kind[i] === 0) total.set(name, (total.get(name) || 0) + o.duration[i]); });
  const order = [...total.keys()].sort((a, b) => total.get(b) - total.get(a));
  return new Map(order.map((name, i) => [name, known.has(hostName(name)) ? known.get(hostName(name)) : data.kernels.length ? 6 : Math.min(i, 6)]));
})();

/// Without parameters.
function shortName(name) {
  return name.startsWith("copy") || name.startsWith("fill") ? name : shortened(name);
}

/// Of a marker without what PyTorch's autograd adds to it.
function spanName(i) {
  const name = hostName(host.spans.name[i]);
  return host.spans.marker[i] ? name.replace(/^(.+?), (seq|op_id|sizes|input_op_ids) = .*$/s, "$1") : name;
}

function threadLabel(index) {
  const thread = host.threads[index], several = new Set(host.threads.map((t) => t.pid)).size > 1;
  return thread.free ? "free range" : several ? `${thread.pid}: ${thread.tid}` : `thread ${thread.tid}`;
}
function placeLabel(i) {
  const o = host.operations;
  return `GPU ${o.gpu[i]} ${o.queue[i] === null ? "copies" : `queue ${o.queue[i]}`}`;
}

function spanText(i) {
  const s = host.spans;
  return `${hostName(s.name[i])}\n${s.marker[i] ? "marker" : "call"}, ${threadLabel(s.thread[i])}, ${time(s.duration[i])}${s.error[i] ? `\n${s.error[i]}` : ""}`;
}
function operationText(i) {
  const o = host.operations, call = o.span[i];
  return `${hostName(o.name[i])}\n${placeLabel(i)}, ${gpuTime(o.duration[i])}${o.bytes[i] ? `, ${bytes(o.bytes[i])}` : ""}` +
    (call === null ? "" : `\nfrom ${hostName(host.spans.name[call])}, ${time(Math.max(0, o.start[i] - host.spans.start[call]))} before`) +
    (o.dispatch[i] === null ? "" : `\n${dispatchText(o.dispatch[i]).split("\n").slice(1).join("\n")}`);
}

function spanFacts(i) {
  const s = host.spans, made = operationsOf(i);
  return [[s.marker[i] ? "marker" : "call", hostName(s.name[i])], ["thread", `${host.threads[s.thread[i]].tid} of process ${host.threads[s.thread[i]].pid}`],
    ["time", `${time(s.duration[i])}, from ${time(s.start[i])} on`], ...(s.error[i] ? [["result", s.error[i]]] : []),
    ...(made.length ? [["on the GPU", made.slice(0, 8).map((o) => `${shortened(hostName(host.operations.name[o]))} (${gpuTime(host.operations.duration[o])})`).join(", ") +
      (made.length > 8 ? ` and ${count(made.length - 8)} more` : "")]] : [])];
}
function operationFacts(i) {
  const o = host.operations, call = o.span[i];
  return [[["kernel", "copy", "fill"][o.kind[i]], hostName(o.name[i])], ["where", placeLabel(i)], ["time", software ? "this machine's, not a card's" : `${time(o.duration[i])}, from ${time(o.start[i])} on`],
    ...(o.bytes[i] ? [["bytes", bytes(o.bytes[i])]] : []),
    ...(call === null ? [] : [["call", `${hostName(host.spans.name[call])} in ${threadLabel(host.spans.thread[call])}, ${time(Math.max(0, o.start[i] - host.spans.start[call]))} before`]]),
    ...(o.dispatch[i] === null ? [] : dispatchFacts(o.dispatch[i]).filter(([name]) => name !== "kernel" && name !== "time"))];
}

/// What a call has asked for.
const operationsOf = (() => {
  let byCall = null;
  return (span) => {
    if (!byCall) {
      byCall = new Map();
      host.operations.span.forEach((call, i) => { if (call !== null) { if (!byCall.has(call)) byCall.set(call, []); byCall.get(call).push(i); } });
    }
    return byCall.get(span) || [];
  };
})();

/// Rows of the timeline: threads with a row for each depth, then queues and copies.
function hostRows() {
  const s = host.spans, o = host.operations, rows = [];
  host.threads.forEach((thread, t) => { thread.rows = []; });
  s.name.forEach((_, i) => {
    const depths = host.threads[s.thread[i]].rows, depth = Math.min(s.depth[i], 9);
    while (depths.length <= depth) depths.push({source: "span", label: depths.length ? "" : threadLabel(s.thread[i]), bars: []});
    depths[depth].bars.push(i);
  });
  for (const thread of host.threads) rows.push(...thread.rows);
  return [...rows, ...overlapRows(o, [...o.name.keys()], (i) => [o.gpu[i], o.queue[i] === null ? Infinity : o.queue[i]], (i) => placeLabel(i), "operation")];
}

function operationTable() {
  const o = host.operations, call = (i) => o.span[i] === null ? null : hostName(host.spans.name[o.span[i]]);
  return new VirtualTable({label: "kernels and copies", rows: [...o.name.keys()], sortBy: 2, ascending: true,
    filterText: (i) => `${hostName(o.name[i])} ${placeLabel(i)} ${call(i) || ""}`, onopen: (i) => choose("operation", i, true),
    columns: [
      {name: "Kernel or copy", width: "minmax(0,3fr)", mono: true, of: (i) => hostName(o.name[i]), text: (i) => shortName(hostName(o.name[i])), hint: (i) => hostName(o.name[i])},
      {name: "Where", width: "8rem", wide: true, of: (i) => placeLabel(i), text: (i) => placeLabel(i)},
      {name: "Start", width: "6rem", number: true, wide: true, of: (i) => o.start[i], text: (i) => time(o.start[i])},
      ...software ? [] : [{name: "Duration", width: "6rem", narrow: "5.4rem", number: true, of: (i) => o.duration[i], text: (i) => time(o.duration[i])}],
      {name: "Bytes", width: "6rem", number: true, wide: true, of: (i) => o.bytes[i], text: (i) => o.bytes[i] ? bytes(o.bytes[i]) : ""},
      {name: "Call", width: "minmax(0,2fr)", narrow: "minmax(0,1.6fr)", of: call, text: (i) => call(i) || "–"},
    ]});
}
function spanTable() {
  const s = host.spans;
  return new VirtualTable({label: "calls and markers", rows: [...s.name.keys()], sortBy: 2, ascending: true,
    filterText: (i) => `${hostName(s.name[i])} ${threadLabel(s.thread[i])} ${s.marker[i] ? "marker" : "call"} ${s.error[i] || ""}`, onopen: (i) => choose("span", i, true),
    columns: [
      {name: "Call or marker", width: "minmax(0,3fr)", of: (i) => hostName(s.name[i]), text: (i) => hostName(s.name[i]), hint: (i) => hostName(s.name[i])},
      {name: "Thread", width: "8rem", wide: true, of: (i) => s.thread[i], text: (i) => threadLabel(s.thread[i])},
      {name: "Start", width: "6rem", number: true, wide: true, of: (i) => s.start[i], text: (i) => time(s.start[i])},
      {name: "Duration", width: "6rem", narrow: "5.4rem", number: true, of: (i) => s.duration[i], text: (i) => time(s.duration[i])},
      {name: "Error", width: "minmax(0,1.6fr)", narrow: "5rem", of: (i) => s.error[i], text: (i) => s.error[i] ? el("span", {class: "waste"}, s.error[i]) : ""},
    ]});
}

function operatorsPanel() {
  const rows = host.operators, most = Math.max(...rows.map((row) => row[4]), 1);
  const table = new VirtualTable({label: "operators", rows, sortBy: 5, filterText: (row) => row.slice(0, 3).join(" "),
    columns: [
      {name: "Operator", width: "minmax(0,1.6fr)", narrow: "minmax(0,1.4fr)", of: (row) => row[0] || "~", text: (row) => row[0] || el("span", {class: "soft"}, "no marker"), hint: (row) => row[0]},
      {name: "Kernel or copy", width: "minmax(0,2.4fr)", narrow: "minmax(0,1.2fr)", mono: true, of: (row) => row[1], text: (row) => shortName(row[1]), hint: (row) => row[1]},
      {name: "Sizes", width: "minmax(0,1.6fr)", wide: true, mono: true, of: (row) => row[2], text: (row) => row[2], hint: (row) => row[2]},
      {name: "Calls", width: "5rem", narrow: "2.6rem", number: true, of: (row) => row[3], text: (row) => count(row[3])},
      {name: "Mean", width: "6rem", number: true, wide: true, of: (row) => row[4] / row[3], text: (row) => gpuTime(row[4] / row[3])},
      {name: "Total", width: "10rem", narrow: "4.4rem", number: true, of: (row) => row[4],
        text: (row) => [el("i", {class: "bar", style: {width: `${Math.max(1, 48 * row[4] / most)}px`}}), el("span", {class: "share"}, gpuTime(row[4]))]},
    ]});
  return el("div", {}, el("p", {}, "GPU time by the innermost operator around the call that submitted the work. Operators are markers of PyTorch's autograd; other markers are used where there is none."), table.node);
}

/// Hardware counters that the file has, by kernel.
function countersPanel() {
  const number = (value) => value.toLocaleString("en", {maximumSignificantDigits: 6});
  const table = new VirtualTable({label: "hardware counters", rows: host.counters, sortBy: 0, ascending: true, filterText: (row) => `${row[0]} ${row[1]}`,
    columns: [
      {name: "Kernel", width: "minmax(0,2.4fr)", narrow: "minmax(0,1.4fr)", mono: true, of: (row) => row[0], text: (row) => shortName(row[0]), hint: (row) => row[0]},
      {name: "Counter", width: "minmax(0,1.4fr)", narrow: "minmax(0,1.2fr)", mono: true, of: (row) => row[1], text: (row) => row[1], hint: (row) => row[1]},
      {name: "Dispatches", width: "6rem", number: true, wide: true, of: (row) => row[2], text: (row) => count(row[2])},
      {name: "Mean", width: "8rem", narrow: "5rem", number: true, of: (row) => row[3], text: (row) => number(row[3])},
      {name: "Least", width: "8rem", number: true, wide: true, of: (row) => row[4], text: (row) => number(row[4])},
      {name: "Largest", width: "8rem", number: true, wide: true, of: (row) => row[5], text: (row) => number(row[5])},
    ]});
  return el("div", {}, el("p", {}, "Hardware counters of each dispatch, measured on the card by the tool that wrote the file. A dispatch's value is the sum of all instances of a counter."), table.node);
}

/// Where waves were when the hardware took samples.
function samplesPanel() {
  const rows = host.samples, all = rows.reduce((sum, row) => sum + row[4], 0);
  const table = new VirtualTable({label: "PC samples", rows, sortBy: 4, filterText: (row) => row.slice(0, 4).join(" "),
    columns: [
      {name: "Kernel", width: "minmax(0,1.6fr)", wide: true, mono: true, of: (row) => row[0], text: (row) => row[0] ? shortName(row[0]) : el("span", {class: "soft"}, "no dispatch"), hint: (row) => row[0]},
      {name: "Source", width: "minmax(0,1.4fr)", narrow: "minmax(0,1fr)", mono: true, of: (row) => row[1], text: (row) => row[1], hint: (row) => row[1]},
      {name: "Instruction", width: "minmax(0,2fr)", narrow: "minmax(0,1.4fr)", mono: true, of: (row) => row[2], text: (row) => row[2], hint: (row) => row[2]},
      {name: "Waits for", width: "minmax(0,1fr)", wide: true, of: (row) => row[3], text: (row) => row[3], hint: (row) => row[3]},
      {name: "Samples", width: "8rem", narrow: "4.4rem", number: true, of: (row) => row[4],
        text: (row) => [el("i", {class: "bar", style: {width: `${Math.max(1, 48 * row[4] / all)}px`}}), el("span", {class: "share"}, `${count(row[4])} · ${(100 * row[4] / all).toFixed(1)}%`)]},
    ]});
  return el("div", {}, el("p", {}, "Samples of the program counter, taken by the hardware while waves ran: where a kernel spends its time, and what waves wait for."), table.node);
}

/// Application → CUDA layer → HIP → HSA → kernels.
function chainPicture() {
  const c = host.chain;
  const item = ([name, times, ns], whole) => el("li", {title: name}, el("span", {class: "name"}, whole === true ? name : shortName(name)), el("span", {class: "soft"}, `${count(times)} ×${ns && !software ? ` · ${time(ns)}` : ""}`));
  const stage = (title, items) => el("div", {class: "stage-of"}, el("h3", {}, title), el("ul", {}, items));
  return [el("h2", {}, "Call graph"), el("div", {class: "chain card"},
    stage("Application", c.processes.map((process) => item(process, true))), ...c.layers.map((layer) => stage("CUDA layer", el("li", {}, el("span", {class: "name"}, layer)))),
    stage("HIP", c.functions.map(item)), stage("HSA", c.places.map(item)), stage("On the GPU", c.kernels.map(item)))];
}

function hostTiles(tile) {
  const t = host.totals, o = host.operations, busy = o.duration.reduce((sum, ns) => sum + ns, 0);
  const tiles = [tile("HIP calls", count(t.calls), t.errors ? `${count(t.errors)} failed` : "none failed", "calls")];
  if (!hasDispatches) tiles.push(tile("Kernels and copies", count(t.operations), software ? "on the software GPU" : `${time(busy)} on the GPU`, "operations"));
  return tiles;
}
