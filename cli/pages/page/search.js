// One field that finds kernels, places and lines of source. "/" goes there, Enter opens the first.

function searchIndex() {
  const entries = [];
  data.kernels.forEach((kernel, i) => entries.push({kind: "kernel", text: shortKernel(i), all: kernel.name, go: () => openKernel(i)}));
  for (const a of data.accesses) entries.push({kind: a.op, text: `${place(a)} in ${shortKernel(a.kernel)}`, all: `${place(a)} ${a.op} ${data.kernels[a.kernel].name} ${a.advice}`, go: () => openSource(a.file, a.line)});
  const shown = new Set(sourceFilesOf());
  data.files.forEach((file, f) => { if (shown.has(f)) file.lines.forEach((text, i) => { if (text.trim()) entries.push({kind: `${baseName(file.path)}:${i + 1}`, text: text.trim().slice(0, 160), all: text, go: () => openSource(f, i + 1)}); }); });
  return entries.map((entry) => ({...entry, low: entry.all.toLowerCase().slice(0, 4000)}));
}

function searchField() {
  let index = null, found = [], at = 0;
  const list = el("ul", {class: "found card", role: "listbox", id: "found", hidden: true});
  const input = el("input", {type: "search", placeholder: "search  /", "aria-label": "search kernels, places and source", role: "combobox", "aria-expanded": "false", "aria-controls": "found", oninput: () => look(), onkeydown: (event) => key(event), onblur: () => close()});
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); };
  const take = (entry) => { close(); input.blur(); entry.go(); };
  const draw = () => {
    list.replaceChildren(...(found.length ? found.map((entry, i) => el("li", {role: "option", "aria-selected": i === at, onmousedown: (event) => { event.preventDefault(); take(entry); }}, el("span", {class: "soft"}, entry.kind), el("span", {class: "mono"}, entry.text)))
      : [el("li", {class: "soft"}, "nothing")]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  };
  const look = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return close();
    index = index || searchIndex();
    found = [];
    for (const entry of index) if (words.every((word) => entry.low.includes(word)) && found.push(entry) >= 12) break;
    at = 0;
    draw();
  };
  const key = (event) => {
    if (event.key === "Escape") { input.value = ""; close(); input.blur(); }
    else if (event.key === "Enter" && found[at] && !list.hidden) take(found[at]);
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && found.length) { at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length; draw(); }
    else return;
    event.preventDefault();
  };
  return {node: el("div", {class: "search"}, input, list), input};
}
