// The first page: what ran, how well, and the three things to look at first.

function summaryPanel() {
  const t = data.totals, share = efficiency(t.needed, t.used);
  const tile = (name, value, note, id) => el("div", {class: "tile"}, el("div", {class: "name"}, name),
    el("div", {class: "value", "data-is": id}, value), el("div", {class: "note"}, note));
  const tiles = host ? hostTiles(tile) : [];
  if (!inside) return el("div", {}, problemList(), el("div", {class: "tiles"}, tiles), chainPicture());
  const partial = isPartial() ? "; incomplete" : "";
  tiles.push(tile("Dispatches", count(t.dispatches), `${count(t.instrumented)} instrumented`, "dispatches"),
    software ? tile("Executed instructions", t.executed ? brief(t.executed) : "–", data.dispatches.executed.includes(null) ? "unknown for instrumented kernels" : `by waves of ${plural(new Set(data.dispatches.kernel).size, "kernel")}`, "busy")
      : tile("Time in kernels", time(t.busy_ns), plural(new Set(data.dispatches.kernel).size, "kernel"), "busy"));
  if (data.accesses.length) tiles.push(
    tile("Cache-line efficiency", percent(share), (share === null ? "no global memory" : `${count(t.needed)} of ${count(t.used)} needed`) + partial, "efficiency"),
    tile("Wasted cache lines", brief(t.wasted), `by all waves together${partial}`, "wasted"),
    tile("Bank conflicts", brief(t.conflicts), `extra cycles of LDS${partial}`, "conflicts"));
  tiles.push(tile("Records", brief(t.records), `${bytes(t.bytes)}, ${t.dropped ? count(t.dropped) + " dropped" : "none dropped"}`, "records"));
  return el("div", {}, deathCards(), problemList(), el("div", {class: "tiles"}, tiles), runCard(), topFindings(), kernelTable(), host ? chainPicture() : null);
}

/// Whether the numbers are those of a part of what ran, because something went wrong.
function isPartial() {
  const t = data.totals;
  return t.cut_off || t.incomplete > 0 || t.dropped > 0 || data.deaths.length > 0;
}

/// What ran where.
function runCard() {
  if (data.runs.length === 0) return null;
  const run = data.runs[0], kinds = new Map();
  for (const gpu of run.gpus) { const name = `${gpu.target}${gpu.software ? ", FADE's software GPU" : gpu.name && gpu.name !== gpu.target ? ` (${gpu.name})` : ""}`; kinds.set(name, (kinds.get(name) || 0) + 1); }
  const compilers = [...new Set(data.code.map((code) => code.facts.compiler).filter(Boolean))];
  const versions = [["FADE", run.fade], ["ROCr", run.runtime], ["HIP", run.hip]].filter(([, version]) => version).map((pair) => pair.join(" "));
  return el("div", {class: "run card"}, factList([
    ["ran on", [...kinds].map(([name, n]) => n > 1 ? `${n} × ${name}` : name).join("; ") || "no GPU"],
    ["versions", versions.join(", ")], ["kernels compiled by", compilers.join("; ") || null], ["date", run.date.replace("T", " ").replace("Z", " UTC")],
    ["command", el("span", {class: "mono"}, run.command)], ["seen", run.options.length ? el("span", {class: "mono"}, run.options.join(" ")) : "everything"],
    ["processes", data.runs.length > 1 ? `${count(data.runs.length)}; the first is shown` : null]]),
    software ? el("p", {class: "soft"}, `The software GPU executes what a card would, instruction by instruction${data.sampled ? "; counts are estimates from a sample" : isPartial() ? "; counts are not complete" : ": counts are exact"}. Its times are those of this machine, so they are not shown.`) : null);
}

/// What killed the run stands before everything else.
function deathCards() {
  const cards = data.deaths.map((death) => el("div", {class: "death card"}, el("h2", {}, death.what),
    death.line || death.where ? el("button", {type: "button", class: "link", onclick: () => openSource(death.file, death.line)}, `${death.where ? `${shortened(death.where)} ` : ""}${death.line ? `at ${fileName(death.file)}:${death.line}` : ""}`) : null,
    death.line && sourceLine(death.file, death.line) ? el("pre", {}, sourceLine(death.file, death.line).trim()) : null,
    el("ul", {}, death.lines.map((line) => el("li", {}, line)))));
  if (data.ended) cards.push(el("p", {class: "problems waste"}, `The application failed: ${data.ended}. This is what was recorded until then.`));
  return cards;
}

function problemList() {
  const t = data.totals, lines = [...data.problems, ...data.notes.map((note) => `${note}.`)];
  if (t.dropped) lines.unshift(`${plural(t.dropped, "execution")} of accesses and blocks ${t.dropped === 1 ? "was" : "were"} dropped (--lossy): counts are too low by this number.`);
  if (data.hint) lines.push(`${data.hint.charAt(0).toUpperCase()}${data.hint.slice(1)}.`);
  if (t.cut_off) lines.push("The run has no summary line: it was cut off. This is what was written until then.");
  if (t.incomplete) lines.push(`${plural(t.incomplete, "dispatch", "dispatches")} had not ended when the report was made.`);
  lines.push(...skippedLines());
  return lines.length ? el("div", {class: "problems"}, lines.slice(0, 8).map((line) => el("p", {}, line)),
    lines.length > 8 ? el("details", {}, el("summary", {class: "soft"}, `and ${count(lines.length - 8)} more`), lines.slice(8, 2000).map((line) => el("p", {}, line))) : null) : null;
}

/// Kernels that were left out: one by one, or if there are many with the same reason, together.
function skippedLines() {
  const reasons = new Map();
  for (const one of data.skipped) { if (!reasons.has(one.reason)) reasons.set(one.reason, []); reasons.get(one.reason).push(one); }
  return [...reasons].flatMap(([reason, list]) => list.length <= 3 ? list.map((one) => `Not instrumented: ${shortened(one.kernel, 90)} (${reason})${one.count > 1 ? `, ${count(one.count)} times` : ""}.`)
    : [`Not instrumented: ${plural(list.length, "kernel")} (${reason}): ${list.slice(0, 3).map((one) => shortened(one.kernel, 40)).join(", ")} and ${count(list.length - 3)} more, ${count(list.reduce((sum, one) => sum + one.count, 0))} times.`]);
}

function topFindings() {
  if (data.findings.length === 0) return data.accesses.length ? el("p", {class: "empty"}, isPartial() ? "Nothing to gain from the accesses that were recorded, by the model of the GPU; not all of them were." : "Nothing to gain from memory accesses, by the model of the GPU.") : null;
  return [el("h2", {}, "Look here first"), findingCards(data.findings.slice(0, 3))];
}

/// What is worth changing: cause, places, cost in cycles and bytes, and what to do.
function findingCards(findings, open = (p) => openSource(p.file, p.line), namesKernel = true) {
  const several = new Set(data.dispatches.kernel).size > 1, part = (f) => f.run_gain < 0.01 ? "under 1 %" : percent(f.run_gain);
  const gain = (f) => f.gain < 0.005 ? f.together ? "together with the one before" : "little to gain by itself" : `up to ${percent(f.gain)} to gain${several && f.run_gain !== undefined ? `, ${part(f)} of all kernels` : ""}`;
  const expected = (f) => [f.gain >= 0.005 && f.after_ns ? `${time(f.before_ns)} → ${time(f.after_ns)} by the model` : "", f.together ? `${f.gain >= 0.005 && f.after_ns ? "together" : "Together"} with ${f.together}` : ""].filter(Boolean).join(", ");
  return el("div", {class: "card"}, findings.map((f) => {
    const first = f.places.find((p) => p.file >= 0);
    const places = f.places.slice(0, 6).map((p) => `${place(p)}${p.op ? " " + p.op : ""}`).join(", ") + (f.places.length > 6 ? ` and ${count(f.places.length - 6)} more` : "");
    return el("button", {type: "button", class: "finding", onclick: () => { if (first) open(first); }},
      el("span", {class: "where"}, [namesKernel ? shortKernel(f.kernel) : "", f.cause, places].filter(Boolean).join(" · ")),
      el("span", {class: "amount"}, gain(f)),
      first && sourceLine(first.file, first.line) ? el("pre", {}, sourceLine(first.file, first.line).trim()) : null,
      el("span", {class: "advice"}, `${brief(Math.round(f.cycles))} cycles of ${f.unit}${f.bytes ? `, ${bytes(f.bytes)} moved for nothing` : ""}: ${f.counts}. ${expected(f) ? `${expected(f)}. ` : ""}${f.advice}`));
  }));
}

function findingButton(access, act) {
  return el("button", {type: "button", class: "finding", onclick: act},
    el("span", {class: "where"}, `${shortKernel(access.kernel)} · ${place(access)} · ${access.op}`),
    el("span", {class: "amount"}, wasteText(access)),
    sourceLine(access.file, access.line) ? el("pre", {}, sourceLine(access.file, access.line).trim().slice(0, 400)) : null,
    el("span", {class: "advice"}, access.advice));
}

/// One row for each kernel and variant.
function kernelRows() {
  const d = data.dispatches, rows = new Map();
  for (let i = 0; i < d.id.length; ++i) {
    const key = `${d.kernel[i]} ${d.variant[i]}`;
    let row = rows.get(key);
    if (!row) rows.set(key, row = {kernel: d.kernel[i], variant: d.variants[d.variant[i]], count: 0, total: 0, timed: 0, shortest: Infinity, longest: 0, needed: 0, used: 0, conflicts: 0, hasMemory: false});
    ++row.count;
    if (amounts[i] !== null) {
      ++row.timed;
      row.total += amounts[i];
      row.shortest = Math.min(row.shortest, amounts[i]);
      row.longest = Math.max(row.longest, amounts[i]);
    }
    if (d.used[i] !== null) { row.hasMemory = true; row.needed += d.needed[i]; row.used += d.used[i]; row.conflicts += d.conflicts[i]; }
  }
  return [...rows.values()];
}

function kernelTable() {
  const rows = kernelRows();
  if (rows.length === 0) return el("p", {class: "empty"}, "No kernel ran.");
  const most = Math.max(...rows.map((row) => row.total), 1);
  const table = new VirtualTable({label: "kernels", rows, sortBy: 2, filterText: (row) => data.kernels[row.kernel].name + " " + row.variant, onopen: (row) => openKernel(row.kernel),
    columns: [
      {name: "Kernel", width: "minmax(0,3fr)", mono: true, of: (row) => shortKernel(row.kernel), text: (row) => shortKernel(row.kernel), hint: (row) => data.kernels[row.kernel].name, whole: (row) => data.kernels[row.kernel].name},
      {name: "Variant", width: "minmax(0,1fr)", wide: true, of: (row) => row.variant, text: (row) => baseName(row.variant), hint: (row) => row.variant},
      {name: software ? "Instructions" : "Total", width: "10rem", narrow: "5.5rem", number: true, of: (row) => row.timed ? row.total : null,
        text: (row) => row.timed ? [el("i", {class: "bar", style: {width: `${Math.max(1, 48 * row.total / most)}px`}}), el("span", {class: "share"}, amountText(row.total))] : amountText(null)},
      {name: "Count", width: "5rem", number: true, wide: true, of: (row) => row.count, text: (row) => count(row.count)},
      {name: "Mean", width: "6rem", number: true, wide: true, of: (row) => row.timed ? row.total / row.timed : null, text: (row) => amountText(row.timed ? row.total / row.timed : null)},
      {name: software ? "Most" : "Longest", width: "6rem", number: true, wide: true, of: (row) => row.timed ? row.longest : null, text: (row) => amountText(row.timed ? row.longest : null)},
      {name: "Lines needed", width: "8rem", narrow: "5.4rem", number: true, title: "cache lines needed of used", of: (row) => efficiency(row.needed, row.used),
        text: (row) => meter(efficiency(row.needed, row.used))},
    ]});
  return [el("h2", {}, "Kernels"), table.node];
}
