// The tabs and the start. A panel is built when its tab is first opened.

// A trace of the host side alone has nothing of what happens inside of kernels.
// What a check has found may come alone, too.
const checked = data.errors !== null, onlyChecked = checked && !hasDispatches && !host;
const inside = (hasDispatches || !host) && !onlyChecked;
const panels = [
  ["summary", "Summary", summaryPanel, !onlyChecked], ["errors", "Errors", () => errorsPanel(), checked], ["kernel", "Kernels", kernelPanel, inside && data.kernels.length > 0], ["profile", "Profile", () => profilePanel(), data.profile !== null], ["findings", "Findings", findingsPanel, inside], ["source", "Source", sourcePanel, inside], ["lanes", "Lanes", lanesPanel, inside],
  ["memory", "Memory", memoryPanel, inside], ["blocks", "Blocks", blocksPanel, inside], ["operators", "Operators", () => operatorsPanel(), host && host.operators.some(([name]) => name)],
  ["counters", "Counters", () => countersPanel(), host && host.counters.length > 0], ["samples", "PC samples", () => samplesPanel(), host && host.samples.length > 0],
  ["timeline", "Timeline", timelinePanel, !onlyChecked], ["handlers", "Handlers", handlersPanel, data.tables.length + data.texts.length > 0],
].filter(([, , , wanted]) => wanted).map(([id, name, build]) => ({id, name, build, built: false}));

function showTab(id, focus = false) {
  for (const panel of panels) {
    const on = panel.id === id;
    panel.tab.setAttribute("aria-selected", on);
    panel.tab.tabIndex = on ? 0 : -1;
    panel.node.hidden = !on;
    if (on && !panel.built) { panel.built = true; panel.node.append(panel.build()); }
    if (on) panel.tab.scrollIntoView({block: "nearest", inline: "nearest"});
    if (on && focus) panel.tab.focus();
  }
  tip.hide();
  if (placeOfHash().tab !== id) history.replaceState(null, "", `#${id}`);
}

/// The address leads to what is shown: #kernel=NAME&line=12, #source=FILE&line=12, or the name of a part.
function keepPlace(parts) {
  const text = `#${Object.entries(parts).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`;
  if (document.documentElement.dataset.ready && location.hash !== text) history.replaceState(null, "", text);
}
function placeOfHash() {
  const parts = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  for (const tab of ["kernel", "source"]) if (parts.get(tab)) return {tab, name: parts.get(tab), line: Number(parts.get("line")) || 0};
  return {tab: location.hash.slice(1)};
}
/// The kernel that a link means: what stands for it in links, or its name or symbol as other outputs have them.
function kernelOf(name) {
  const known = kernelKeys.indexOf(name), names = [(one) => one.name, (one) => one.symbol, (one) => plainName(one.name)];
  return names.reduce((at, of) => at >= 0 ? at : data.kernels.findIndex((one) => of(one) === name), known);
}
/// Goes where the address says.
function goToPlace() {
  const {tab, name, line} = placeOfHash();
  showTab(panels.some((panel) => panel.id === tab) ? tab : panels[0].id);
  if (!name) return;
  if (tab === "kernel") {
    const index = kernelOf(name);
    if (index >= 0 && (index !== kernelView.at || !line)) showKernel(index);
    if (index >= 0 && line) openLineOfKernel(line);
  } else {
    const file = data.files.findIndex((one) => one.lines && (one.path === name || baseName(one.path) === name));
    if (file >= 0 && line) openSource(file, line);
  }
}
/// Keys that work everywhere but in a field.
function pageKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const search = document.querySelector(".search input, input[type=search]");
  if (event.key === "/" && search) { search.focus(); event.preventDefault(); }
  if (event.key === "?") showHelp();
  const isStep = event.key === "[" || event.key === "]", errors = panels.find(({id}) => id === "errors");
  if (isStep && errors && !errors.node.hidden) stepError(event.key === "[" ? -1 : 1);
  const kernel = panels.find(({id}) => id === "kernel");
  if (isStep && kernel && !kernel.node.hidden) kernelView.step(event.key === "[" ? -1 : 1);
}

/// What keys do.
function showHelp() {
  if (document.querySelector("dialog.help")) return;
  const keys = [["/", "search"], ["← →", "next tab, when a tab has the focus"], ["[ ]", "previous and next kernel or error"], ["Enter", "open the focused row"],
    ["+ − 0", "zoom in and out, show everything: timeline and memory"], ["arrow keys", "move in the timeline and memory"], ["?", "this list"], ["Esc", "close"]];
  const dialog = el("dialog", {class: "help", "aria-label": "keys", onclose: () => dialog.remove()}, el("h2", {}, "Keys"),
    el("dl", {}, keys.map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])), el("button", {type: "button", onclick: () => dialog.close()}, "Close"));
  document.body.append(dialog);
  dialog.showModal();
}

function tabKey(event) {
  const at = panels.findIndex((panel) => panel.tab === document.activeElement);
  const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: panels.length - 1}[event.key];
  if (to === undefined) return;
  showTab(panels[(to + panels.length) % panels.length].id, true);
  event.preventDefault();
}

function start() {
  document.getElementById("title").textContent = data.title;
  document.title = `${data.title} – FADE`;
  for (const panel of panels) {
    panel.tab = el("button", {type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": `panel-${panel.id}`, onclick: () => showTab(panel.id)}, panel.name);
    panel.node = el("section", {role: "tabpanel", id: `panel-${panel.id}`, "aria-labelledby": `tab-${panel.id}`, hidden: true});
    document.getElementById("tabs").append(panel.tab);
    document.getElementById("panels").append(panel.node);
  }
  document.getElementById("tabs").addEventListener("keydown", tabKey);
  document.getElementById("help").addEventListener("click", showHelp);
  document.getElementById("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme());
  addEventListener("hashchange", goToPlace);
  document.addEventListener("keydown", pageKey);
  if (inside) document.querySelector("header").insertBefore(searchField().node, document.getElementById("help"));
  setTheme();
  // The source comes along: other parts open it at a line.
  for (const panel of panels.filter(({id}) => id === "source" || id === "lanes")) {
    panel.built = true;
    panel.node.append(panel.build());
  }
  goToPlace();
  document.documentElement.dataset.ready = "true";
}
start();
