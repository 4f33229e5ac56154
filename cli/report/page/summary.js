// The first page: what ran, how well, and the three things to look at first.

function summaryPanel() {
  const t = data.totals, share = efficiency(t.needed, t.used);
  const tile = (name, value, note, id) => el("div", {class: "tile"}, el("div", {class: "name"}, name),
    el("div", {class: "value", "data-is": id}, value), el("div", {class: "note"}, note));
  const tiles = host ? hostTiles(tile) : [];
  if (!inside) return el("div", {}, problemList(), el("div", {class: "tiles"}, tiles), chainPicture());
  tiles.push(tile("Dispatches", count(t.dispatches), `${count(t.instrumented)} instrumented`, "dispatches"),
    tile("Time in kernels", time(t.busy_ns), `${count(new Set(data.dispatches.kernel).size)} kernels`, "busy"));
  if (data.accesses.length) tiles.push(
    tile("Cache-line efficiency", percent(share), share === null ? "no global memory" : `${count(t.needed)} of ${count(t.used)} needed`, "efficiency"),
    tile("Lines too many", brief(t.wasted), "by all waves together", "wasted"),
    tile("Extra LDS turns", brief(t.conflicts), "bank conflicts", "conflicts"));
  tiles.push(tile("Records", brief(t.records), `${bytes(t.bytes)}, ${t.dropped ? count(t.dropped) + " dropped" : "none dropped"}`, "records"));
  return el("div", {}, problemList(), el("div", {class: "tiles"}, tiles), topFindings(), kernelTable(), host ? chainPicture() : null);
}

function problemList() {
  const lines = [...data.problems, ...data.notes.map((note) => `${note}.`)];
  if (data.hint) lines.push(`${data.hint.charAt(0).toUpperCase()}${data.hint.slice(1)}.`);
  if (data.totals.cut_off) lines.push("The run has no summary line: it was cut off, and what follows is what was written until then.");
  if (data.totals.incomplete) lines.push(`${count(data.totals.incomplete)} dispatches had not ended when the report was made.`);
  for (const skipped of data.skipped) lines.push(`Not instrumented: ${skipped.kernel} (${skipped.reason})${skipped.count > 1 ? `, ${count(skipped.count)} times` : ""}.`);
  return lines.length ? el("div", {class: "problems"}, lines.slice(0, 12).map((line) => el("p", {}, line)),
    lines.length > 12 ? el("p", {class: "soft"}, `and ${count(lines.length - 12)} more`) : null) : null;
}

function topFindings() {
  const found = data.accesses.filter((access) => wasteOf(access) > 0).slice(0, 3);
  if (found.length === 0) return data.accesses.length ? el("p", {class: "empty"}, "No access wastes anything.") : null;
  return [el("h2", {}, "Look here first"), el("div", {class: "card"}, found.map((access) =>
    el("button", {type: "button", class: "finding", onclick: () => openSource(access.file, access.line)},
      el("span", {class: "where"}, `${shortKernel(access.kernel)} · ${place(access)} · ${access.op}`),
      el("span", {class: "amount"}, wasteText(access)),
      sourceLine(access.file, access.line) ? el("pre", {}, sourceLine(access.file, access.line).trim()) : null,
      el("span", {class: "advice"}, access.advice))))];
}

/// One row for each kernel and variant.
function kernelRows() {
  const d = data.dispatches, rows = new Map();
  for (let i = 0; i < d.id.length; ++i) {
    const key = `${d.kernel[i]} ${d.variant[i]}`;
    let row = rows.get(key);
    if (!row) rows.set(key, row = {kernel: d.kernel[i], variant: d.variants[d.variant[i]], count: 0, total: 0, timed: 0, shortest: Infinity, longest: 0, needed: 0, used: 0, conflicts: 0, hasMemory: false});
    ++row.count;
    if (d.duration[i] !== null) {
      ++row.timed;
      row.total += d.duration[i];
      row.shortest = Math.min(row.shortest, d.duration[i]);
      row.longest = Math.max(row.longest, d.duration[i]);
    }
    if (d.used[i] !== null) { row.hasMemory = true; row.needed += d.needed[i]; row.used += d.used[i]; row.conflicts += d.conflicts[i]; }
  }
  return [...rows.values()];
}

function kernelTable() {
  const rows = kernelRows();
  if (rows.length === 0) return el("p", {class: "empty"}, "No kernel ran.");
  const most = Math.max(...rows.map((row) => row.total), 1);
  const table = new VirtualTable({label: "kernels", rows, sortBy: 2, filterText: (row) => data.kernels[row.kernel].name + " " + row.variant,
    columns: [
      {name: "Kernel", width: "minmax(0,3fr)", mono: true, of: (row) => shortKernel(row.kernel), text: (row) => shortKernel(row.kernel), hint: (row) => data.kernels[row.kernel].name},
      {name: "Variant", width: "minmax(0,1fr)", wide: true, of: (row) => row.variant, text: (row) => baseName(row.variant), hint: (row) => row.variant},
      {name: "Total", width: "10rem", narrow: "5.5rem", number: true, of: (row) => row.total,
        text: (row) => [el("i", {class: "bar", style: {width: `${Math.max(1, 48 * row.total / most)}px`}}), el("span", {class: "share"}, time(row.total))]},
      {name: "Count", width: "5rem", narrow: "3.2rem", number: true, of: (row) => row.count, text: (row) => count(row.count)},
      {name: "Mean", width: "6rem", number: true, wide: true, of: (row) => row.timed ? row.total / row.timed : null, text: (row) => time(row.timed ? row.total / row.timed : null)},
      {name: "Longest", width: "6rem", number: true, wide: true, of: (row) => row.timed ? row.longest : null, text: (row) => time(row.timed ? row.longest : null)},
      {name: "Lines needed", width: "8rem", narrow: "5.4rem", number: true, title: "cache lines needed of used", of: (row) => efficiency(row.needed, row.used),
        text: (row) => meter(efficiency(row.needed, row.used))},
    ]});
  return [el("h2", {}, "Kernels"), table.node];
}
