// The page of a kernel: everything that is known of it, and the way to all of it.

const kernelView = {at: -1, holder: null, source: null};
/// The most work first.
const kernelOrder = [...data.kernels.keys()].sort((a, b) => kernelTime[b] - kernelTime[a]);

function kernelPanel() {
  if (data.kernels.length === 0) return el("p", {class: "empty"}, "No kernel ran.");
  const select = el("select", {"aria-label": "kernel", onchange: () => showKernel(Number(select.value))}, kernelOrder.map((i) => el("option", {value: i}, shortKernel(i))));
  const step = (by) => showKernel(kernelOrder[(kernelOrder.indexOf(kernelView.at) + by + kernelOrder.length) % kernelOrder.length]);
  Object.assign(kernelView, {select, step, holder: el("div", {class: "kernel"})});
  showKernel(kernelOrder[0], false);
  return el("div", {}, el("div", {class: "tools"}, select, el("button", {type: "button", title: "[", onclick: () => step(-1)}, "previous"), el("button", {type: "button", title: "]", onclick: () => step(1)}, "next")), kernelView.holder,
    el("p", {class: "keys"}, "[ and ] show the previous and next kernel. The page address links to this kernel."));
}

/// From elsewhere.
function openKernel(index, line = 0) {
  showTab("kernel");
  showKernel(index);
  if (line) openLineOfKernel(line);
}
function openLineOfKernel(line, file = null) {
  if (kernelView.source && kernelView.source.select) kernelView.source.open(file === null ? kernelView.source.file : file, line);
}

function showKernel(index, keeps = true) {
  kernelView.at = index;
  kernelView.select.value = index;
  const kernel = data.kernels[index], code = data.code.find((one) => one.kernel === index), flow = data.flows.find((one) => one.kernel === index);
  const accesses = data.accesses.filter((a) => a.kernel === index);
  kernelView.source = new SourceView(index);
  kernelView.holder.replaceChildren(...[
    el("h2", {}, wholeName(kernel.name, 90)), kernelTiles(index, accesses, flow, code), missingCard(index, accesses, flow, code),
    el("div", {class: "columns"}, section("Resources", resourceCard(code)), section("Instructions", mixCard(index, code)), section("Roofline", rooflineCard(index)), section("Arguments", argumentCard(kernel))),
    section("Findings", kernelFindings(index, accesses)), section("Source", kernelView.source.node), section("Blocks", blockTable(index, flow)),
    data.placements.some((one) => one.kernel === index) ? section("Where waves ran", placementCard(index)) : null,
    section("Dispatches", dispatchCard(index)), section("Machine code", codeCard(code))].filter(Boolean));
  if (keeps) keepPlace({kernel: kernelKeys[index]});
}
function section(name, content) { return el("section", {class: "part"}, el("h2", {}, name), content); }

function dispatchesOfKernel(index) { return [...data.dispatches.kernel.keys()].filter((i) => data.dispatches.kernel[i] === index); }
/// Of a sorted list.
function quantile(sorted, share) { return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : null; }

function kernelTiles(index, accesses, flow, code) {
  const own = dispatchesOfKernel(index), d = data.dispatches, values = own.map((i) => amounts[i]).filter((n) => n !== null).sort((a, b) => a - b);
  const sum = (key) => accesses.reduce((all, a) => all + a[key], 0), share = efficiency(sum("needed"), sum("used"));
  const tile = (name, value, note) => el("div", {class: "tile"}, el("div", {class: "name"}, name), el("div", {class: "value"}, value), el("div", {class: "note"}, note));
  const lanes = flow ? flow.blocks.reduce((all, b) => all + b.lanes, 0) / Math.max(1, flow.wave_size * flow.blocks.reduce((all, b) => all + b.executions, 0)) : null;
  const o = code && code.facts.occupancy, model = modelOf(index), m = model && model.metrics.occupancy;
  const limit = (word) => word === "grid" ? "the number of workgroups" : limitWord(word);
  return el("div", {class: "tiles"}, tile("Dispatches", count(own.length), own.length ? `grid ${d.grid[own[0]].join(" × ")} of ${d.workgroup[own[0]].join(" × ")}` : ""),
    tile(software ? "Instructions, median" : "Time, median", amountText(quantile(values, 0.5)), values.length ? `${amountText(values[0])} to ${amountText(values[values.length - 1])}${own.every((i) => d.variants[d.variant[i]] === "instrumented") ? ", of the instrumented twin" : ""}` : "not known"),
    accesses.length ? tile("Cache-line efficiency", percent(share), share === null ? "no global memory" : `${count(sum("needed"))} of ${count(sum("used"))} needed`) : null,
    accesses.length ? tile("Bank conflicts", brief(sum("conflicts")), "extra cycles of LDS") : null,
    lanes !== null ? tile("Active lanes", percent(lanes), "over all blocks") : null,
    model && model.roofline.time.dispatch_ns ? tile(`Time, ${model.roofline.time.is}`, time(model.roofline.time.dispatch_ns), classText[model.classification.class]) : null,
    m && m.most ? tile("Occupancy", `${count(Number(m.waves_per_simd.toPrecision(3)))} of ${m.most}`, m.limit === "waves" ? "waves per SIMD" : `waves per SIMD, by ${limit(m.limit)}`) :
    o ? tile("Occupancy", `${o.waves} of ${o.most}`, o.limit === "waves" ? "waves per SIMD" : `waves per SIMD, by ${limitWord(o.limit)}`) : null);
}

/// What a page could have and this one has not, and the command that gives it.
function missingCard(index, accesses, flow, code) {
  const lines = [], skipped = data.skipped.filter((one) => one.kernel === data.kernels[index].name), command = data.title || "./app";
  for (const one of skipped) lines.push(`It was not instrumented: ${one.reason}.`);
  if (accesses.length === 0 && skipped.length === 0) lines.push("No accesses: compile with fadeprobe cc, or run with --observe gpu on the software GPU.");
  if (!flow) lines.push("No blocks: compile with fadeprobe cc --instrument 'accesses;blocks'.");
  if (!code) lines.push(`No machine code, registers and occupancy: fadeprobe report RUN.jsonl --code APPLICATION -o PAGE.html.`);
  if (software && !data.counts.some((one) => one.kernel === index)) lines.push(`No executed instructions by unit and line: fadeprobe --observe gpu --report PAGE.html -- ${command}`);
  return lines.length ? el("details", {class: "missing"}, el("summary", {}, `${plural(lines.length, "hint")}: how to get more data`), el("ul", {}, lines.map((line) => el("li", {}, line)))) : null;
}

function factList(facts) { return el("dl", {class: "facts"}, facts.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])); }

function limitWord(limit) { return {lds: "LDS", vgprs: "VGPRs", sgprs: "SGPRs", workgroup: "the size of workgroups"}[limit] || limit; }

function resourceCard(code) {
  if (!code) return el("p", {class: "soft"}, "The machine code was not found.");
  const f = code.facts, t = code.twin && code.twin.facts, o = f.occupancy;
  const beside = (value, twin) => twin === undefined || twin === null || twin === value ? String(value) : [String(value), el("span", {class: "soft"}, ` (twin ${twin})`)];
  const spills = (f.vgpr_spills || 0) + (f.sgpr_spills || 0);
  return factList([["compiled for", `${code.target}, waves of ${f.wave_size}`], ["compiler", f.compiler || "not known"],
    ["VGPRs", beside(f.vgprs_used ?? f.vgprs, t && (t.vgprs_used ?? t.vgprs))], f.agprs ? ["AGPRs", beside(f.agprs, t && t.agprs)] : ["", null],
    ["SGPRs", beside(f.sgprs_used ?? f.sgprs, t && (t.sgprs_used ?? t.sgprs))], ["spills", spills ? el("span", {class: "waste"}, `${f.vgpr_spills} VGPRs, ${f.sgpr_spills} SGPRs`) : "none"],
    ["LDS", beside(bytes(f.lds), t && bytes(t.lds))], ["scratch", f.scratch ? el("span", {class: "waste"}, `${bytes(f.scratch)} for each lane`) : "none"],
    ["room", o ? `for ${o.waves} of ${o.most} waves per SIMD; ${o.limit === "waves" ? "nothing limits it" : `limited by ${limitWord(o.limit)}`}; ${plural(o.workgroups, "workgroup")} of ${plural(o.waves_per_workgroup, "wave")}` : "not known"],
    ["each alone", o ? `VGPRs ${o.by_vgprs}, SGPRs ${o.by_sgprs}, LDS ${o.by_lds}, workgroup ${o.by_workgroup}` : null]]);
}

/// Instructions by unit: executed ones where they were counted, else those of the code.
function mixCard(index, code) {
  const counts = data.counts.find((one) => one.kernel === index);
  const mix = counts && counts.mix.length ? counts.mix.map(([unit, n, lanes]) => [unit, n, lanes / Math.max(1, n * counts.wave_size)]) : code ? code.facts.mix.map(([unit, n]) => [unit, n, null]) : [];
  if (mix.length === 0) return el("p", {class: "soft"}, "The machine code was not found.");
  const all = mix.reduce((sum, [, n]) => sum + n, 0), most = Math.max(...mix.map(([, n]) => n));
  return el("div", {}, el("p", {class: "soft"}, counts ? `${brief(all)} executed by waves, as compiled` : `${count(all)} in the code, whether they ran or not`),
    el("table", {class: "bars"}, el("tbody", {}, mix.sort((a, b) => b[1] - a[1]).map(([unit, n, lanes]) => el("tr", {}, el("th", {}, unit),
      el("td", {class: "wide"}, el("i", {class: "bar", style: {width: `${Math.max(1, 100 * n / most)}%`}})), el("td", {class: "number"}, counts ? percent(n / all) : count(n)),
      lanes === null ? null : el("td", {class: "number soft", title: "active lanes"}, `${percent(lanes)} lanes`))))));
}

/// What allocations are called, by number.
function allocationName(number) {
  const found = data.heat && data.heat.allocations ? data.heat.allocations.find((a) => a.number === number) : null;
  return found ? found.name : `allocation #${number}`;
}

function argumentCard(kernel) {
  if (kernel.arguments.length === 0) return el("p", {class: "soft"}, "Arguments are recorded for instrumented and observed dispatches.");
  const valueText = (argument, [hexText, decimal, allocation]) => allocation ? `${hexText} → ${allocationName(allocation)}` : argument.pointer ? hexText : argument.bytes <= 8 ? decimal : `${hexText}…`;
  return el("div", {class: "scroll"}, el("table", {class: "plain"}, el("tbody", {}, kernel.arguments.map((argument, i) => el("tr", {},
    el("th", {class: "mono"}, argument.name || `#${i + 1}`), el("td", {class: "mono soft", title: argument.type}, shortType(argument.type) || `${argument.bytes} bytes`),
    el("td", {class: "mono"}, argument.values.slice(0, 3).map((value) => el("div", {}, valueText(argument, value), argument.values.length > 1 ? el("span", {class: "soft"}, ` ×${count(value[3])}`) : null)),
      argument.values.length > 3 || argument.others ? el("div", {class: "soft"}, `and ${argument.others ? "many" : argument.values.length - 3} other values`) : null))))));
}
function shortType(type) { return type.length <= 32 ? type : `${upToDepth(type, 0).slice(0, 31)}…`; }

/// What is worth changing in it, as on the first page; then accesses that waste something, whether or not that matters.
function kernelFindings(index, accesses) {
  const found = data.findings.filter((f) => f.kernel === index), wasteful = accesses.filter((a) => wasteOf(a) > 0), cost = data.costs[index];
  const open = (p) => openLineOfKernel(p.line, p.file);
  const rest = wasteful.length ? el("details", {class: "missing"}, el("summary", {}, `${plural(wasteful.length, "access", "accesses")} with waste`),
    el("div", {class: "card"}, wasteful.slice(0, 12).map((access) => findingButton(access, () => open(access)))),
    wasteful.length > 12 ? el("p", {class: "soft"}, `and ${count(wasteful.length - 12)} more in Findings`) : null) : null;
  const none = accesses.length || (cost && cost.cycles > 0) ? "Nothing to gain, by the model of the GPU." : "Its accesses were not recorded.";
  return [found.length ? findingCards(found.slice(0, 20), open, false) : el("p", {class: "soft"}, none),
    found.length > 20 ? el("p", {class: "soft"}, `and ${count(found.length - 20)} more in Findings`) : null, costLine(cost), rest];
}
/// How long each unit is busy, by the model.
function costLine(cost) {
  if (!cost || !(cost.cycles > 0)) return null;
  const units = Object.entries(cost.units).filter(([, cycles]) => cycles >= 0.5).sort((a, b) => b[1] - a[1]).map(([unit, cycles]) => `${unit} ${brief(Math.round(cycles))}`);
  return el("p", {class: "soft", style: {"margin-top": "10px"}}, `Busy cycles of its units, by the model: ${units.join(", ")}${cost.bytes ? `; ${bytes(cost.bytes)} of memory traffic` : ""}.`);
}

function blockTable(index, flow) {
  if (!flow) return el("p", {class: "soft"}, "No block was counted.");
  const name = (b) => b.lines.length ? `${fileName(b.lines[0][0])}:${b.lines[0][1]}` : `block ${b.id}`;
  const mean = (b) => b.clocks && b.executions ? b.clocks / b.executions : null, has = (key) => flow.blocks.some((b) => b[key] !== null && b[key] !== undefined);
  const number = (column, key, title) => has(key) ? [{name: column, width: "6rem", number: true, wide: true, title, of: (b) => b[key], text: (b) => b[key] === null || b[key] === undefined ? "–" : brief(b[key])}] : [];
  const table = new VirtualTable({label: `blocks of ${shortKernel(index)}`, rows: flow.blocks, sortBy: 1, filterText: (b) => `${name(b)} ${blockLines(b)} ${b.function}`,
    onopen: (b) => { const [file, line] = b.lines[0] || [-1, 0]; if (line) openLineOfKernel(line, file); },
    columns: [{name: "Block", width: "minmax(0,2fr)", mono: true, of: (b) => b.id, text: (b) => name(b), hint: (b) => blockLines(b)},
      {name: "Runs", width: "6rem", number: true, of: (b) => b.executions, text: (b) => count(b.executions)},
      {name: "Lanes", width: "7rem", number: true, of: (b) => b.executions ? b.lanes / b.executions / flow.wave_size : null, text: (b) => meter(b.executions ? b.lanes / b.executions / flow.wave_size : null)},
      ...number("Divergent", "divergent", "executions with fewer lanes than the wave has"), ...number("Splits", "splits", "executions after which only some of the lanes continued to the wave's next block"),
      ...(has("clocks") ? [{name: "Clocks", width: "6rem", number: true, title: "mean time of an execution until the wave's next block, including the writing of records", of: mean, text: (b) => mean(b) === null ? "–" : brief(Math.round(mean(b)))}] : []),
      ...number("p50", "p50", "half of the executions took at most so many clocks"), ...number("p90", "p90", "nine of ten"), ...number("p99", "p99", "99 of 100")]});
  table.extra.append(el("button", {type: "button", class: "small", onclick: () => openFlow(index)}, "graph"));
  return table.node;
}

/// Compute units as they lie: a row for each shader array, a cell for each unit, darker for more waves.
function placementCard(index) {
  const {units} = data.placements.find((one) => one.kernel === index), rows = new Map();
  for (const [xcc, engine, array, unit, waves] of units) { const key = `${xcc} ${engine} ${array}`; if (!rows.has(key)) rows.set(key, {xcc, engine, array, cells: new Map()}); rows.get(key).cells.set(unit, waves); }
  const list = [...rows.values()].sort((a, b) => a.xcc - b.xcc || a.engine - b.engine || a.array - b.array), width = Math.max(...units.map((u) => u[3])) + 1, most = Math.max(...units.map((u) => u[4])), least = Math.min(...units.map((u) => u[4]));
  const several = (of) => new Set(list.map(of)).size > 1;
  const label = (row) => [several((r) => r.xcc) ? `die ${row.xcc}` : "", `engine ${row.engine}`, several((r) => r.array) ? `array ${row.array}` : ""].filter(Boolean).join(", ");
  const table = new VirtualTable({label: `compute units of ${shortKernel(index)}`, rows: units, sortBy: 4, filterText: (u) => u.join(" "),
    columns: ["Die", "Engine", "Array", "Unit", "Waves"].map((name, i) => ({name, width: "minmax(3rem,1fr)", number: true, of: (u) => u[i], text: (u) => count(u[i])}))});
  return el("div", {}, el("p", {class: "soft"}, `${plural(units.reduce((sum, u) => sum + u[4], 0), "wave")} on ${plural(units.length, "compute unit")}, ${count(least)} to ${count(most)} on each${software ? ", as the software GPU numbers them" : ""}.`),
    el("div", {class: "scroll"}, el("table", {class: "units"}, el("tbody", {}, list.map((row) => el("tr", {}, el("th", {}, label(row)),
      Array.from({length: width}, (_, unit) => { const waves = row.cells.get(unit); return el("td", {title: waves === undefined ? `unit ${unit}: none` : `unit ${unit}: ${plural(waves, "wave")}`, style: waves === undefined ? {} : {"--share": `${Math.round(15 + 85 * waves / most)}%`}, class: waves === undefined ? "none" : null}); })))))),
    el("details", {class: "missing"}, el("summary", {}, "as a table"), table.node));
}

/// All dispatches: how they spread, and one by one.
function dispatchCard(index) {
  const own = dispatchesOfKernel(index), d = data.dispatches;
  if (own.length === 0) return el("p", {class: "soft"}, "No dispatch was seen.");
  const values = own.map((i) => amounts[i]).filter((n) => n !== null).sort((a, b) => a - b);
  const table = new VirtualTable({label: `dispatches of ${shortKernel(index)}`, rows: own, sortBy: 0, ascending: true, filterText: (i) => `${d.id[i]} ${d.variants[d.variant[i]]} ${d.grid[i].join(" ")}`,
    onopen: (i) => { showTab("timeline"); choose("dispatch", i, true); },
    columns: [{name: "Id", width: "4.6rem", number: true, of: (i) => d.id[i], text: (i) => count(d.id[i])},
      {name: "Variant", width: "minmax(0,1fr)", wide: true, of: (i) => d.variants[d.variant[i]], text: (i) => baseName(d.variants[d.variant[i]]) + (d.complete[i] ? "" : ", had not ended")},
      {name: amountName, width: "7rem", number: true, of: (i) => amounts[i], text: (i) => amountText(amounts[i])},
      {name: "Grid", width: "minmax(0,1.2fr)", number: true, wide: true, of: (i) => d.grid[i][0] * d.grid[i][1] * d.grid[i][2], text: (i) => d.grid[i].join(" × ")},
      {name: "Dropped", width: "5rem", number: true, wide: true, of: (i) => d.dropped[i], text: (i) => count(d.dropped[i])},
      {name: "Lines needed", width: "7.5rem", number: true, of: (i) => d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]), text: (i) => meter(d.used[i] === null ? null : efficiency(d.needed[i], d.used[i]))}]});
  return el("div", {}, values.length > 2 ? distribution(values) : null, table.node);
}

function distribution(values) {
  const low = values[0], high = values[values.length - 1], bins = Math.min(40, Math.max(6, Math.ceil(Math.sqrt(values.length)))), counts = new Array(bins).fill(0);
  for (const v of values) ++counts[Math.min(bins - 1, Math.floor((v - low) / Math.max(high - low, 1e-9) * bins))];
  const most = Math.max(...counts), width = 640, height = 72, each = width / bins;
  const words = `${plural(values.length, "dispatch", "dispatches")}: median ${amountText(quantile(values, 0.5))}, nine of ten at most ${amountText(quantile(values, 0.9))}, from ${amountText(low)} to ${amountText(high)}`;
  return el("div", {class: "spread"}, el("svg", {viewBox: `0 0 ${width} ${height + 16}`, role: "img", "aria-label": words},
    counts.map((n, i) => el("rect", {x: i * each + 1, y: height - Math.max(n ? 2 : 0, n / most * (height - 4)), width: Math.max(1, each - 2), height: Math.max(n ? 2 : 0, n / most * (height - 4))}, el("title", {}, `${count(n)}: ${amountText(low + (high - low) * i / bins)} to ${amountText(low + (high - low) * (i + 1) / bins)}`))),
    el("text", {x: 0, y: height + 13}, amountText(low)), el("text", {x: width, y: height + 13, "text-anchor": "end"}, amountText(high))), el("p", {class: "soft"}, words + "."));
}

/// The whole code, in order; its line leads to the source.
function codeCard(code) {
  if (!code) return el("p", {class: "soft"}, "The machine code was not found: fadeprobe report --code APPLICATION shows it.");
  const holder = el("div", {}), where = ([, , , file, line]) => line ? `${fileName(file)}:${line}` : "";
  const show = (which) => {
    const rows = (which === "twin" ? code.twin.instructions : code.instructions), counted = which === "original" && rows.some((row) => row[6] !== undefined);
    const table = new VirtualTable({label: `${which} code of ${shortKernel(code.kernel)}`, rows, sortBy: -1, rowHeight: 24, filterText: (row) => `${row[1]} ${row[2]} ${where(row)}`,
      onopen: (row) => { if (row[4]) openLineOfKernel(row[4], row[3]); },
      columns: [{name: "Offset", width: "5rem", mono: true, number: true, of: (row) => row[0], text: (row) => hex(row[0])},
        ...(counted ? [{name: "Executed", width: "6rem", number: true, of: (row) => row[6] ?? null, text: (row) => count(row[6])}] : []),
        {name: "Unit", width: "4.5rem", wide: true, of: (row) => row[2], text: (row) => row[2]},
        {name: "Instruction", width: "minmax(0,3fr)", mono: true, of: (row) => row[1], text: (row) => row[1], hint: (row) => row[1]},
        {name: "Line", width: "minmax(0,1fr)", mono: true, wide: true, of: (row) => row[4], text: where}]});
    if (code.twin) table.extra.append(el("button", {type: "button", class: "small", onclick: () => show(which === "twin" ? "original" : "twin")}, which === "twin" ? "as compiled" : "instrumented twin"));
    const all = which === "twin" ? code.twin.count : code.count;
    holder.replaceChildren(el("p", {class: "soft"}, which === "twin" ? `The instrumented twin: ${plural(all, "instruction")}` : `As compiled: ${plural(all, "instruction")}`, all > rows.length ? `, the first ${count(rows.length)} of them shown.` : "."), table.node);
  };
  show("original");
  return holder;
}
