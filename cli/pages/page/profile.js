// What keeps kernels from being faster: all of them under the roof, their classes, and the time of a wave by instruction.

const profileLevels = [["dram", "memory"], ["l2", "L2"], ["l1", "L1"], ["lds", "LDS"]];
const classText = {memory_bandwidth: "memory bandwidth", latency: "latency", under_occupied: "under-occupied", divergence: "divergence", compute_throughput: "compute throughput", lds: "LDS", launch_overhead: "launch overhead", unknown: "not counted"};
const profileView = {level: "dram", picture: null, detail: null, at: null};

function rateText(v, unit) {
  if (!v) return "–";
  for (const [size, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (v >= size) return `${(v / size).toPrecision(3)}\u202f${prefix}${unit}/s`;
  return `${v.toPrecision(3)}\u202f${unit}/s`;
}
function profileTime(k) { return k.roofline.time.all_ns; }

/// Ceilings that kernels are under, by the type of arithmetic.
function profileRoofs(kernels) {
  const seen = new Map();
  const add = (rate, name) => seen.set(rate, (seen.get(rate) || new Set()).add(name));
  for (const {roofline: {roof}} of kernels) {
    const name = `${roof.unit} ${roof.type}`;
    if (roof.unit === "matrix" || roof.plain_flops_per_s === roof.packed_flops_per_s) add(roof.flops_per_s, name);
    else {
      if (roof.packed_share < 1) add(roof.plain_flops_per_s, name);
      if (roof.packed_share > 0) add(roof.packed_flops_per_s, `${name}, packed`);
    }
  }
  return [...seen].map(([v, names]) => [[...names].sort().join(", "), v]).sort((a, b) => a[1] - b[1]);
}

/// Whether a box (left, top, right, bottom) covers none of others, and none of circles (x, y, radius).
function coversNone([left, top, right, bottom], boxes, circles = []) {
  return boxes.every((b) => left >= b[2] || right <= b[0] || top >= b[3] || bottom <= b[1]) &&
    circles.every(([x, y, r]) => Math.hypot(x - Math.min(Math.max(x, left), right), y - Math.min(Math.max(y, top), bottom)) >= r);
}

/// Where texts of a picture can stand: each gets the place that covers no other text and the fewest things.
class PictureTexts {
  constructor(lines, circles) { this.lines = lines; this.circles = circles; this.texts = []; }
  /// places: [x, y of the baseline, anchor]; null if none is free. A name beside a circle that is not its own would be taken for that one's.
  add(text, attributes, places, isName = false) {
    const wide = 7 * text.length, box = ([x, y, anchor]) => { const left = anchor === "end" ? x - wide : anchor === "middle" ? x - wide / 2 : x; return [left, y - 11, left + wide, y + 3]; };
    const covered = (place) => this.lines.filter((one) => !coversNone(box(place), [one])).length + this.circles.filter((one) => !coversNone(box(place), [], [one])).length;
    const [place] = places.filter((one) => coversNone(box(one), this.texts, isName ? this.circles : [])).sort((a, b) => covered(a) - covered(b));
    if (!place) return null;
    this.texts.push(box(place));
    return el("text", {x: place[0], y: place[1], "text-anchor": place[2], ...attributes}, text);
  }
}

/// All kernels of a processor as circles, whose area is their time.
function rooflinePicture(gpu) {
  const {level} = profileView, kernels = data.profile.kernels.filter((k) => k.counted && k.target === gpu.target && k.roofline.intensity[level] > 0 && k.roofline.flops_per_s > 0);
  const none = data.profile.kernels.filter((k) => k.counted && k.target === gpu.target).length - kernels.length;
  const slope = gpu.ceilings.bytes[level], roofs = profileRoofs(kernels), width = 720, height = 340, left = 74, bottom = 40, top = 18, right = 20;
  if (!kernels.length) return el("p", {class: "soft"}, `No kernel of ${gpu.target} has both floating-point operations and bytes of ${profileLevels.find(([key]) => key === level)[1]}.`);
  const xs = kernels.map((k) => k.roofline.intensity[level]), ys = kernels.map((k) => k.roofline.flops_per_s), peak = Math.max(...roofs.map(([, v]) => v), ...ys);
  const low = Math.min(0.05, Math.min(...xs) / 2), high = Math.max(100, Math.max(...xs) * 2, 2 * peak / slope), floor = Math.min(low * slope, Math.min(...ys)) / 2;
  const x = (v) => left + Math.log(v / low) / Math.log(high / low) * (width - left - right), y = (v) => top + Math.log(peak * 1.6 / v) / Math.log(peak * 1.6 / floor) * (height - bottom - top);
  const most = Math.max(...kernels.map(profileTime)), powers = (from, to) => { const all = []; for (let p = Math.ceil(Math.log10(from)); p <= Math.floor(Math.log10(to)); ++p) all.push(10 ** p); return all; };
  const name = (k) => plainName(k.kernel), tall = powers(floor, peak * 1.6), step = Math.max(1, Math.ceil(tall.length / 7));
  const circles = [...kernels].sort((a, b) => profileTime(b) - profileTime(a)).map((k) => el("circle", {class: `kernel ${k.classification.class}`, cx: x(k.roofline.intensity[level]), cy: y(k.roofline.flops_per_s), r: 3 + 15 * Math.sqrt(profileTime(k) / most), tabindex: "0", role: "button",
    "aria-label": `${name(k)}: ${k.roofline.intensity[level].toPrecision(3)} operations per byte, ${rateText(k.roofline.flops_per_s, "FLOP")}`, onclick: () => showProfiled(k), onkeydown: (event) => { if (event.key === "Enter") showProfiled(k); }},
    el("title", {}, `${name(k)}\n${k.roofline.intensity[level].toPrecision(3)} operations per byte, ${rateText(k.roofline.flops_per_s, "FLOP")}\n${time(profileTime(k))}, ${classText[k.classification.class]}`)));
  const circleOf = (k) => [x(k.roofline.intensity[level]), y(k.roofline.flops_per_s), 3 + 15 * Math.sqrt(profileTime(k) / most)];
  const texts = new PictureTexts(roofs.map(([, v]) => [x(Math.max(v / slope, low)), y(v) - 1, x(high), y(v) + 1]), kernels.map(circleOf));
  const roofTexts = roofs.map(([what, v]) => texts.add(`${what} ${rateText(v, "FLOP")}`, {class: "soft"}, [[width - right, y(v) - 5, "end"], [width - right, y(v) + 15, "end"], [x(Math.max(v / slope, low)) + 24, y(v) + 15, "start"]]));
  // Those that take long first.
  const labels = [...kernels].sort((a, b) => profileTime(b) - profileTime(a)).filter((one) => profileTime(one) >= most / 20).map((k) => {
    const [cx, cy, r] = circleOf(k), text = name(k).slice(0, 28), half = 3.5 * text.length, beside = [[cx + r + 4, cy + 4, "start"], [cx - r - 4, cy + 4, "end"], [cx, cy - r - 5, "middle"], [cx, cy + r + 13, "middle"]];
    const inside = ([at, base, anchor]) => base < height - bottom && (anchor === "start" ? at + 2 * half : anchor === "end" ? at : at + half) <= width - 4 && (anchor === "start" ? at : anchor === "end" ? at - 2 * half : at - half) >= left;
    return texts.add(text, {}, beside.filter(inside), true);
  });
  const svg = el("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `roofline of ${gpu.card}, ${plural(kernels.length, "kernel")}`},
    powers(low, high).map((v) => [el("line", {class: "mesh", x1: x(v), x2: x(v), y1: top, y2: height - bottom}), el("text", {x: x(v), y: height - bottom + 15, "text-anchor": "middle", class: "soft"}, v >= 1 ? count(v) : String(v))]),
    tall.filter((v, i) => i % step === 0).map((v) => [el("line", {class: "mesh", x1: left, x2: width - right, y1: y(v), y2: y(v)}), el("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end", class: "soft"}, rateText(v, "F"))]),
    el("path", {class: "roof", d: `M${x(Math.max(low, floor / slope))},${y(Math.max(low, floor / slope) * slope)} L${x(peak / slope)},${y(peak)}`}),
    roofs.map(([, v]) => el("path", {class: "roof", d: `M${x(Math.max(v / slope, low))},${y(v)} L${x(high)},${y(v)}`})), roofTexts,
    circles, labels, el("text", {x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", class: "soft"}, `floating-point operations per byte of ${profileLevels.find(([key]) => key === level)[1]}`));
  return el("div", {class: "roofline wide"}, svg, el("p", {class: "soft"}, `${gpu.card}: ${rateText(slope, "B")} from ${profileLevels.find(([key]) => key === level)[1]} at most (${gpu.rates === "table" ? "as published" : gpu.rates}). The area of a circle is the time of a kernel, ${data.profile.times === "modeled" ? "by the model" : "as measured"}.${none ? ` ${plural(none, "kernel")} without such operations or bytes ${none === 1 ? "is" : "are"} not in the picture.` : ""}`));
}

function drawRoofs() { profileView.picture.replaceChildren(...data.profile.gpus.map((gpu) => rooflinePicture(gpu))); }

function levelButtons() {
  const buttons = profileLevels.map(([key, name]) => el("button", {type: "button", class: "small", "aria-pressed": String(key === profileView.level), onclick: () => { profileView.level = key; for (const [i, b] of buttons.entries()) b.setAttribute("aria-pressed", profileLevels[i][0] === key); drawRoofs(); }}, name));
  return el("div", {class: "tools levels"}, el("span", {class: "soft"}, "bytes of"), buttons);
}

function profiledTable() {
  const all = data.profile.kernels.reduce((sum, k) => sum + profileTime(k), 0);
  return new VirtualTable({label: "profiled kernels", rows: data.profile.kernels, sortBy: 2, rowHeight: 58, narrowRowHeight: 78, filterText: (k) => `${k.kernel} ${classText[k.classification.class]} ${k.classification.reason}`, onopen: showProfiled,
    below: (k) => k.classification.reason,
    columns: [{name: "Kernel", width: "minmax(0,2fr)", mono: true, of: (k) => k.kernel, text: (k) => plainName(k.kernel), hint: (k) => k.kernel},
      {name: "Class", width: "10rem", narrow: "7rem", of: (k) => classText[k.classification.class], text: (k) => classText[k.classification.class]},
      {name: "Time", width: "6rem", number: true, title: data.profile.times === "modeled" ? "of all dispatches, by the model" : "of all dispatches", of: profileTime, text: (k) => k.roofline.time.is === "unknown" ? "–" : time(profileTime(k))},
      {name: "Share", width: "5rem", number: true, wide: true, of: profileTime, text: (k) => percent(all ? profileTime(k) / all : null)},
      {name: "Op/byte", width: "5rem", number: true, wide: true, title: "floating-point operations per byte of memory", of: (k) => k.roofline.intensity.dram, text: (k) => k.roofline.intensity.dram === null ? "–" : k.roofline.intensity.dram.toPrecision(3)},
      {name: "Next", width: "13rem", wide: true, title: "the class that would follow, and how close it is", of: (k) => k.classification.next.nearness, text: (k) => k.classification.next.class === "unknown" ? "–" : `${classText[k.classification.next.class]} ${percent(k.classification.next.nearness)}`}]});
}

/// What each unit has to do, as bars; the longest decides.
function unitBars(k) {
  const times = k.classification.evidence.filter((e) => e.unit === "ns"), most = Math.max(...times.map((e) => e.value), 1);
  return el("table", {class: "plain bars"}, el("tbody", {}, [...times].sort((a, b) => b.value - a.value).map((e) => el("tr", {}, el("th", {}, e.name), el("td", {}, el("div", {class: "bar", style: {"--share": `${(100 * e.value / most).toFixed(1)}%`}})), el("td", {class: "number"}, time(e.value))))));
}
function profiledFacts(k) {
  const round = (v) => String(Number(v.toPrecision(3))), o = k.metrics.occupancy, r = k.metrics.registers, rows = [["dispatches", count(k.metrics.dispatches)], ["waves", count(k.metrics.waves)], ["waves on a SIMD", `${round(o.waves_per_simd)} of ${o.most}${o.possible < o.most ? `, room for ${round(o.possible)}` : ""} (limit: ${o.limit})`], ["compute units busy", count(Math.round(o.units))], ["rounds of waves", count(o.rounds)],
    ["lanes that take part", percent(k.metrics.lane_share)], ["a wave alone", `${time(k.metrics.wave_ns)}, ${percent(k.metrics.wave_ns ? k.metrics.waiting_ns / k.metrics.wave_ns : 0)} of it waiting`]];
  if (r) rows.push(["registers", `${r.vgprs} vector, ${r.sgprs} scalar${r.spilled_vgprs ? `, ${r.spilled_vgprs} spilled` : ""}`]);
  for (const [name, key] of [["memory", "dram"], ["L2", "l2"], ["L1", "l1"], ["LDS", "lds"]]) if (k.roofline.bytes[key]) rows.push([`bytes of ${name}`, bytes(k.roofline.bytes[key])]);
  return el("table", {class: "plain"}, el("tbody", {}, rows.map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", {}, value)))));
}
function profiledInstructions(k) {
  const at = new Map(k.instructions.map((one) => [one.address, one])), where = (one) => one.line ? `${baseName(one.file)}:${one.line}` : "–";
  return new VirtualTable({label: `time of instructions of ${plainName(k.kernel)}`, rows: k.instructions, sortBy: -1, filterText: (one) => `${one.text} ${where(one)} ${one.unit}`,
    columns: [{name: "Address", width: "5rem", mono: true, wide: true, of: (one) => one.address, text: (one) => one.address.toString(16).padStart(4, "0")},
      {name: "Instruction", width: "minmax(0,2fr)", mono: true, of: (one) => one.text, text: (one) => one.text, hint: (one) => one.text},
      {name: "Line", width: "9rem", mono: true, wide: true, of: where, text: where},
      {name: "Executions", width: "6.4rem", number: true, wide: true, of: (one) => one.executions, text: (one) => count(one.executions)},
      {name: "Lanes", width: "4rem", number: true, wide: true, of: (one) => one.executions && one.lanes !== null ? one.lanes / one.executions : null, text: (one) => one.executions && one.lanes !== null ? (one.lanes / one.executions).toFixed(0) : "–"},
      {name: "Of unit", width: "4.6rem", number: true, wide: true, title: "share of its unit's work", of: (one) => one.unit_share, text: (one) => one.unit_share ? `${percent(one.unit_share)}` : "–"},
      {name: "Time", width: "4.6rem", number: true, title: "share of a wave's time", of: (one) => one.time_share, text: (one) => one.time_share ? percent(one.time_share) : "–"},
      {name: "Waits for", width: "minmax(0,1.4fr)", mono: true, of: (one) => one.wait_cycles || null, text: (one) => one.wait_cycles ? `${Math.round(one.wait_cycles)} cycles${at.has(one.waits_for) ? `: ${at.get(one.waits_for).text.split(" ")[0]} ${where(at.get(one.waits_for))}` : ""}` : "", hint: (one) => at.has(one.waits_for) ? at.get(one.waits_for).text : ""}]});
}

/// Waves from the beginning to the end: steps.
function waveSteps(k) {
  const moments = k.metrics.waves_over_time ? k.metrics.waves_over_time.moments : [];
  if (moments.length < 2) return null;
  const width = 420, height = 120, left = 44, bottom = 22, first = moments[0][0], last = moments[moments.length - 1][0], most = Math.max(...moments.map((m) => m[1]), 1), {unit} = k.metrics.waves_over_time;
  const x = (t) => left + (t - first) / Math.max(last - first, 1e-9) * (width - left - 8), y = (n) => 10 + (1 - n / most) * (height - bottom - 10);
  let path = `M${x(first)},${y(0)}`, before = 0;
  for (const [t, n] of moments) { path += ` L${x(t)},${y(before)} L${x(t)},${y(n)}`; before = n; }
  return el("section", {}, el("h3", {}, "Waves over time"), el("div", {class: "roofline"}, el("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `at most ${plural(most, "wave")} at a time`},
    el("line", {class: "mesh", x1: left, x2: width - 8, y1: y(0), y2: y(0)}), el("path", {class: "roof steps", d: path}), el("text", {x: left - 6, y: 14, "text-anchor": "end", class: "soft"}, count(most)), el("text", {x: left - 6, y: y(0) + 4, "text-anchor": "end", class: "soft"}, "0"),
    el("text", {x: width - 8, y: height - 6, "text-anchor": "end", class: "soft"}, unit === "ns" ? `${time(last - first)} (model)` : `${count(Math.round(last - first))} cycles`))));
}

function showProfiled(k) {
  profileView.at = k;
  const c = k.classification, index = data.kernels.findIndex((one) => one.name === k.kernel);
  const head = el("h2", {}, plainName(k.kernel), " ", index >= 0 && panels.some(({id}) => id === "kernel") ? el("button", {type: "button", class: "small", onclick: () => { showTab("kernel"); showKernel(index); }}, "kernel page") : null);
  profileView.detail.replaceChildren(head, el("p", {}, el("b", {}, classText[c.class]), `: ${c.reason}.`, c.try_first ? ` Try first: ${c.try_first}.` : ""),
    ...(k.counted || k.traced ? [el("div", {class: "columns"}, ...(k.counted ? [ el("section", {}, el("h3", {}, "Time by unit"), unitBars(k), el("p", {class: "keys"}, "Modeled time of one dispatch: each unit at its peak rate, and waves with their waits. The longest decides.")), el("section", {}, el("h3", {}, "Execution"), profiledFacts(k))] : []), waveSteps(k)),
      k.instructions.length ? el("h3", {}, "Time of a wave, by instruction") : null, k.instructions.length ? profiledInstructions(k).node : null] : []));
}

/// What decides how long the whole takes, and how sure that is.
function criticalPath(path) {
  const {span_ns: span, critical_ns: parts} = path, share = (ns) => percent(span ? ns / span : 0);
  const words = [["kernels", parts.kernel], ["copies and fills", parts.copy + parts.fill], ["HIP calls", parts.call], ["the program itself", parts.host], ["submission and completion", parts.delay]];
  const sure = path.guesses ? ` ${path.guesses} of its ${plural(path.steps, "step")} ${path.guesses === 1 ? "is a guess" : "are guesses"}: their dependencies were not recorded.` : "";
  return [el("h2", {}, "Critical path"), el("p", {id: "critical-path"}, `${time(span)}${path.times ? ` (${path.times})` : ""}: ${words.map(([name, ns]) => `${name} ${share(ns)}`).join(", ")}.${sure}`), path.work && path.work.length ? criticalTable(path).node : null];
}
/// What is on it, and how much sooner the whole would end if that were faster.
function criticalTable(path) {
  const gain = (i, text) => ({name: `Gain ${text}`, width: "6rem", number: true, wide: true, title: `how much sooner the program would end if this were ${text} faster`, of: (w) => w.gain_ns ? w.gain_ns[i] : null, text: (w) => w.gain_ns && w.critical_ns ? time(w.gain_ns[i]) : "–"});
  return new VirtualTable({label: "critical path", rows: path.work, sortBy: 3, filterText: (w) => `${w.name} ${w.kind}`,
    columns: [{name: "Work", width: "minmax(0,2fr)", mono: true, of: (w) => w.name, text: (w) => w.kind === "kernel" ? plainName(w.name) : w.name, hint: (w) => w.name},
      {name: "Count", width: "5rem", number: true, wide: true, of: (w) => w.count, text: (w) => count(w.count)},
      {name: "Total", width: "6rem", number: true, wide: true, of: (w) => w.total_ns, text: (w) => time(w.total_ns)},
      {name: "Critical", width: "6rem", number: true, title: "of it on the critical path", of: (w) => w.critical_ns, text: (w) => time(w.critical_ns)},
      {name: "Share", width: "5rem", number: true, of: (w) => w.critical_ns, text: (w) => percent(path.span_ns ? w.critical_ns / path.span_ns : 0)},
      gain(0, "10 %"), gain(1, "50 %"), gain(2, "100 %")]});
}

function profilePanel() {
  profileView.picture = el("div", {class: "card", style: {padding: "8px 16px"}});
  profileView.detail = el("div", {id: "profiled"});
  drawRoofs();
  const table = profiledTable(), first = data.profile.kernels.find((k) => k.counted || k.traced);
  if (first) showProfiled(first);
  return el("div", {}, ...(data.profile.critical_path ? criticalPath(data.profile.critical_path) : []), ...(data.profile.gpus.length ? [el("h2", {}, "Roofline"), levelButtons(), profileView.picture] : []), el("h2", {}, "What limits kernels"), table.node, profileView.detail);
}
