// What handlers of one's own have said: their tables and lines.

function handlersPanel() {
  const parts = data.tables.map((table) => {
    const isNumber = table.columns.map((_, i) => table.rows.every((row) => row[i] === undefined || /^-?[\d., ]*%?$/.test(String(row[i]))));
    const value = (row, i) => { const n = Number(String(row[i]).replace(/[, %]/g, "")); return isNumber[i] && row[i] !== "" && !Number.isNaN(n) ? n : String(row[i] ?? ""); };
    const grid = new VirtualTable({label: table.title || "table", rows: table.rows, sortBy: -1, filterText: (row) => row.join(" "),
      columns: table.columns.map((name, i) => ({name, width: isNumber[i] ? "minmax(4rem,1fr)" : "minmax(0,2fr)", number: isNumber[i], wide: i > 2, of: (row) => value(row, i), text: (row) => String(row[i] ?? ""), hint: (row) => String(row[i] ?? "")}))});
    return [el("h2", {}, table.title || "Table"), grid.node];
  });
  if (data.texts.length) {
    const grid = new VirtualTable({label: "lines of handlers", rows: data.texts, sortBy: -1, rowHeight: 28, filterText: (line) => line,
      columns: [{name: "Line", width: "minmax(0,1fr)", mono: true, of: (line) => line, text: (line) => line, hint: (line) => line}]});
    parts.push([el("h2", {}, "Lines"), grid.node]);
  }
  return el("div", {class: "handlers"}, parts);
}
