// Every access in the source, the most wasteful first, each with a sentence of advice.

function findingsPanel() {
  if (data.accesses.length === 0)
    return el("p", {class: "empty"}, "No access was recorded: run with instrumented kernels (-i, or --report) and the analyzer MemoryAnalysis.");
  const table = new VirtualTable({
    label: "findings", rows: data.accesses, sortBy: 2, rowHeight: 82, narrowRowHeight: 144,
    filterText: (a) => `${data.kernels[a.kernel].name} ${a.file >= 0 ? data.files[a.file].path : ""}:${a.line} ${a.op} ${a.space} ${a.advice} ${sourceLine(a.file, a.line)}`,
    below: (a) => a.advice,
    onopen: (a) => openSource(a.file, a.line),
    columns: [
      {name: "Place", width: "minmax(0,2fr)", mono: true, of: (a) => `${fileName(a.file)}:${String(a.line).padStart(7, "0")}`, text: (a) => place(a), hint: (a) => a.file >= 0 ? data.files[a.file].path : ""},
      {name: "Kernel", width: "minmax(0,1.6fr)", mono: true, wide: true, of: (a) => shortKernel(a.kernel), text: (a) => shortKernel(a.kernel), hint: (a) => data.kernels[a.kernel].name},
      {name: "Waste", width: "6rem", narrow: "4.6rem", number: true, title: "wasted cache lines, bank conflicts, or waiting atomics", of: wasteOf,
        text: (a) => el("span", {class: wasteOf(a) ? "waste" : "soft"}, count(wasteOf(a)))},
      {name: "Access", width: "8.2rem", narrow: "4.4rem", of: (a) => `${a.space} ${a.op}`, text: (a) => `${a.space === "lds" ? "LDS" : "global"} ${a.op}`, hint: (a) => `${a.bytes || "several"} bytes for each lane${a.via ? ", through " + a.via : ""}`, wide: true},
      {name: "B/lane", width: "3.6rem", number: true, wide: true, of: (a) => a.bytes, text: (a) => a.bytes ? count(a.bytes) : "varies"},
      {name: "Executions", width: "6.4rem", number: true, wide: true, of: (a) => a.executions, text: (a) => count(a.executions)},
      {name: "Efficiency", width: "8rem", narrow: "5.4rem", number: true, of: (a) => a.space === "lds" ? null : efficiency(a.needed, a.used),
        text: (a) => {
          if (a.space === "lds") return a.conflicts ? `+${(a.conflicts / a.executions).toFixed(1)} cycles` : "0 cycles";
          return meter(efficiency(a.needed, a.used));
        }},
    ]});
  return el("div", {}, data.findings.length ? [el("h2", {}, "What to change"), findingCards(data.findings.slice(0, 50)),
    el("p", {class: "keys"}, "Cycles and gains come from a model: units work without stalls, and a kernel takes as long as its busiest unit. Counts are exact. A gain assumes that the findings above it are fixed, too."),
    el("h2", {}, "All accesses")] : null, table.node,
    el("p", {class: "keys"}, "Waste: cache lines beyond those that the lanes' bytes would fill, extra LDS cycles because of bank conflicts, and lanes of atomics that share their address with another lane. Enter opens the source."));
}
