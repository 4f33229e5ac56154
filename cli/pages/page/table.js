// Tables that stay quick with any number of rows: only the rows in view are in the document.
//
// columns: [{name, width, number, of(row) -> value to sort by, text(row) -> string or nodes, wide}]
// `wide` columns are left out on narrow screens. Rows are whatever `of` and `text` understand.

class VirtualTable {
  constructor({label, columns, rows, sortBy = 0, ascending = false, rowHeight = 36, narrowRowHeight = rowHeight, below = null, filterText, onopen = null, empty = "Nothing to show."}) {
    Object.assign(this, {columns, all: rows, sortBy, ascending, rowHeight, heights: [rowHeight, narrowRowHeight], belowOf: below, filterText, onopen, empty});
    this.rows = rows;
    this.at = 0;
    this.search = el("input", {type: "search", placeholder: "filter", "aria-label": `filter ${label}`, oninput: () => this.filter()});
    this.counter = el("span", {class: "count", role: "status"});
    this.extra = el("span", {class: "grow"});
    this.exports = exportButtons(label, () => this.content());
    this.head = el("div", {class: "head", role: "row"});
    this.spacer = el("div", {});
    this.body = el("div", {class: "body", role: "rowgroup", tabindex: "0", "aria-label": `${label}: arrow keys move, Enter opens`,
      onscroll: () => this.draw(), onkeydown: (event) => this.key(event)}, this.spacer);
    this.grid = el("div", {class: "table card", role: "grid", "aria-label": label}, this.head, this.body);
    this.node = el("div", {}, el("div", {class: "tools"}, this.search, this.counter, this.extra, this.exports), this.grid);
    this.width = 0;
    new ResizeObserver(() => {
      if (this.width !== this.grid.clientWidth) { this.width = this.grid.clientWidth; this.layout(); }
    }).observe(this.grid);
    this.filter();
  }

  /// Columns that fit.
  layout() {
    const narrow = this.narrow = this.width < 640;
    this.rowHeight = this.heights[narrow ? 1 : 0];
    this.shown = this.columns.filter((column) => !narrow || !column.wide);
    this.template = this.shown.map((column) => (narrow && column.narrow) || column.width).join(" ");
    this.head.style.gridTemplateColumns = this.template;
    this.head.replaceChildren(...this.shown.map((column) => {
      const index = this.columns.indexOf(column), sorted = index === this.sortBy;
      return el("span", {role: "columnheader", "aria-sort": sorted ? (this.ascending ? "ascending" : "descending") : "none"},
        el("button", {type: "button", class: column.number && "number", "data-sorted": sorted ? (this.ascending ? "▲" : "▼") : null,
          title: column.title, onclick: () => this.sort(index)}, column.name));
    }));
    this.draw();
  }

  sort(index) {
    this.ascending = index === this.sortBy ? !this.ascending : !this.columns[index].number;
    this.sortBy = index;
    this.order();
    this.layout();
  }
  order() {
    if (this.sortBy < 0) return; // as they came
    const {of} = this.columns[this.sortBy], sign = this.ascending ? 1 : -1;
    const keyed = this.rows.map((row, i) => [of(row), i, row]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === b) return i - j;
      if (a === null || a === undefined) return 1; // unknown is always last
      if (b === null || b === undefined) return -1;
      return (a < b ? -1 : 1) * sign;
    });
    this.rows = keyed.map((entry) => entry[2]);
  }
  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.rows = this.all.filter((row) => {
      if (words.length === 0) return true;
      const text = this.filterText(row).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.counter.textContent = words.length ? `${count(this.rows.length)} of ${count(this.all.length)}` : `${count(this.all.length)}`;
    this.order();
    this.at = 0;
    this.body.scrollTop = 0;
    this.layout();
  }

  draw() {
    if (!this.shown) return;
    const total = this.rows.length * this.rowHeight;
    this.spacer.style.height = `${Math.max(total, this.rows.length ? 0 : 72)}px`;
    const height = this.body.clientHeight || 600, top = this.body.scrollTop;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - 4);
    const last = Math.min(this.rows.length, Math.ceil((top + height) / this.rowHeight) + 4);
    const nodes = [];
    for (let i = first; i < last; ++i) nodes.push(this.row(i));
    if (this.rows.length === 0) nodes.push(el("p", {class: "row empty", style: {border: 0}}, this.empty));
    this.body.setAttribute("aria-rowcount", this.rows.length);
    this.body.replaceChildren(this.spacer, ...nodes);
  }
  row(i) {
    const row = this.rows[i];
    const node = el("div", {role: "row", class: `row${this.belowOf ? " two" : ""}${this.onopen ? " can" : ""}${i === this.at ? " at" : ""}`, "aria-rowindex": i + 1,
      style: {top: `${i * this.rowHeight}px`, height: `${this.rowHeight}px`, "grid-template-columns": this.template},
      onclick: () => { this.at = i; this.open(); }},
      this.shown.map((column) => el("span", {role: "gridcell", class: `cell${column.number ? " number" : ""}${column.mono ? " mono" : ""}`,
        title: column.hint ? column.hint(row) : this.narrow && column.number ? cellText(column.text(row)) : null}, this.narrow ? fittingText(column, row) : column.text(row))));
    if (this.belowOf) node.append(el("span", {class: "below", role: "gridcell"}, this.belowOf(row)));
    return node;
  }

  /// All rows that the filter leaves, in their order; a second line of a row is a column of its own.
  content() {
    const columns = this.columns.filter((column) => column.name);
    const extra = this.belowOf ? [(row) => cellText(this.belowOf(row))] : [];
    const raw = (column, row) => { const value = column.of(row); return column.number && typeof value === "number" ? value : column.whole ? column.whole(row) : cellText(column.text(row)); };
    return {heads: [...columns.map((column) => column.name), ...extra.map(() => "Note")],
      raw: this.rows.map((row) => [...columns.map((column) => raw(column, row)), ...extra.map((of) => of(row))]),
      shown: this.rows.map((row) => [...columns.map((column) => cellText(column.text(row))), ...extra.map((of) => of(row))])};
  }

  open() {
    this.draw();
    if (this.onopen && this.rows[this.at] !== undefined) this.onopen(this.rows[this.at]);
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.body.clientHeight / this.rowHeight) - 1);
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (event.key === "Enter") this.open();
    else if (event.key in moves) {
      this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + moves[event.key]));
      const top = this.at * this.rowHeight;
      if (top < this.body.scrollTop) this.body.scrollTop = top;
      if (top + this.rowHeight > this.body.scrollTop + this.body.clientHeight)
        this.body.scrollTop = top + this.rowHeight - this.body.clientHeight;
      this.draw();
    } else return;
    event.preventDefault();
  }
}
