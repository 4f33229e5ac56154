// The tabs, the theme, and the start. A panel is built when its tab is first opened.

// A trace of the host side alone has nothing of what happens inside of kernels.
// What a check has found may come alone, too.
const checked = data.errors !== null, onlyChecked = checked && !hasDispatches && !host;
const inside = (hasDispatches || !host) && !onlyChecked;
const panels = [
  ["summary", "Summary", summaryPanel, !onlyChecked], ["errors", "Errors", () => errorsPanel(), checked], ["findings", "Findings", findingsPanel, inside], ["source", "Source", sourcePanel, inside], ["lanes", "Lanes", lanesPanel, inside],
  ["memory", "Memory", memoryPanel, inside], ["blocks", "Blocks", blocksPanel, inside], ["operators", "Operators", () => operatorsPanel(), host && host.operators.some(([name]) => name)],
  ["timeline", "Timeline", timelinePanel, !onlyChecked],
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
  if (location.hash !== `#${id}`) history.replaceState(null, "", `#${id}`);
}

function tabKey(event) {
  const at = panels.findIndex((panel) => panel.tab === document.activeElement);
  const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: panels.length - 1}[event.key];
  if (to === undefined) return;
  showTab(panels[(to + panels.length) % panels.length].id, true);
  event.preventDefault();
}

function isDark() {
  return (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = isDark() ? "Light" : "Dark";
  document.dispatchEvent(new Event("themechange"));
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
  document.getElementById("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme());
  addEventListener("hashchange", () => showTab(wanted()));
  const wanted = () => { const id = location.hash.slice(1); return panels.some((panel) => panel.id === id) ? id : panels[0].id; };
  setTheme();
  // The source comes along: other parts open it at a line.
  for (const panel of panels.filter(({id}) => id === "source" || id === "lanes")) {
    panel.built = true;
    panel.node.append(panel.build());
  }
  showTab(wanted());
  document.documentElement.dataset.ready = "true";
}
start();
