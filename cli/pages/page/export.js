// What a table shows, as a file: CSV for programs, Markdown for people who write about it.

function cellText(value) {
  if (value === null || value === undefined) return "";
  return el("span", {}, value).textContent.replaceAll("\u202f", " ");
}
function csvField(text) { return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; }
function csvOf(heads, rows) { return [heads, ...rows].map((row) => row.map((cell) => csvField(String(cell))).join(",")).join("\n") + "\n"; }
function markdownOf(heads, rows) {
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n") + "\n";
}
function saveFile(name, kind, text) {
  const link = el("a", {href: URL.createObjectURL(new Blob([text], {type: kind})), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function fileStem(label) { return label.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "table"; }

/// Two buttons. content() -> {heads, raw, shown}: cells as numbers and as people read them.
function exportButtons(label, content) {
  const button = (name, act) => el("button", {type: "button", class: "small", title: `what is shown here, as ${name}`, onclick: act}, name);
  return el("span", {class: "exports"},
    button("CSV", () => { const {heads, raw} = content(); saveFile(`${fileStem(label)}.csv`, "text/csv", csvOf(heads, raw)); }),
    button("Markdown", () => { const {heads, shown} = content(); saveFile(`${fileStem(label)}.md`, "text/markdown", markdownOf(heads, shown)); }));
}
