// A canvas that shows a part of a larger picture: zoom with the wheel, two fingers, + and -, move by
// dragging and with the arrow keys, 0 shows everything. Used by the timeline and the memory map.

class Viewport {
  /// draw(context, width, height), both in CSS pixels; axes: {x: [from, to], y: [from, to] or null}
  constructor({label, height, x, y = null, draw, onpoint = () => "", onclick = () => {}}) {
    Object.assign(this, {full: {x, y}, drawing: draw, onpoint, onclick});
    this.x = [...x];
    this.y = y && [...y];
    this.height = height;
    this.left = 0; // the part of the canvas that is not zoomed
    this.top = 0;
    this.canvas = el("canvas", {tabindex: "0", role: "img", "aria-label": `${label}; + and - zoom, arrow keys move, 0 shows everything`,
      style: {height: `${height}px`}, onkeydown: (event) => this.key(event)});
    this.node = el("div", {class: "stage card"}, this.canvas);
    const button = (text, name, act) => el("button", {type: "button", "aria-label": name, title: name, onclick: act}, text);
    this.buttons = el("span", {class: "zoom"}, button("+", "zoom in", () => this.zoom(0.5)), button("−", "zoom out", () => this.zoom(2)),
      button("all", "show everything", () => this.reset()));
    this.pointers = new Map();
    this.canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.shiftKey || !this.wantsPageScroll(event)) event.preventDefault();
      else return;
      const [px, py] = this.local(event);
      if (event.shiftKey) this.move(event.deltaY / 600, 0);
      else this.zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY)) / 240), px, py);
    }, {passive: false});
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, (event) => this.up(event));
    this.canvas.addEventListener("pointerleave", () => tip.hide());
    this.canvas.addEventListener("dblclick", (event) => this.zoom(0.5, ...this.local(event)));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    document.addEventListener("themechange", () => this.draw());
  }

  /// A wheel that zooms out of what is already everything belongs to the page.
  wantsPageScroll(event) {
    const all = (part, full) => !part || (part[0] <= full[0] && part[1] >= full[1]);
    return event.deltaY > 0 && all(this.x, this.full.x) && all(this.y, this.full.y);
  }
  local(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  get innerWidth() { return Math.max(1, this.canvas.clientWidth - this.left); }
  get innerHeight() { return Math.max(1, this.height - this.top); }
  toX(value) { return this.left + (value - this.x[0]) / (this.x[1] - this.x[0]) * this.innerWidth; }
  toY(value) { return this.top + (value - this.y[0]) / (this.y[1] - this.y[0]) * this.innerHeight; }
  fromX(px) { return this.x[0] + (px - this.left) / this.innerWidth * (this.x[1] - this.x[0]); }
  fromY(py) { return this.y[0] + (py - this.top) / this.innerHeight * (this.y[1] - this.y[0]); }

  static clamp(part, full, smallest) {
    let length = Math.min(Math.max(part[1] - part[0], smallest), full[1] - full[0]);
    let from = Math.max(full[0], Math.min((part[0] + part[1] - length) / 2, full[1] - length));
    return [from, from + length];
  }
  set(x, y = this.y) {
    this.x = Viewport.clamp(x, this.full.x, this.smallestX || (this.full.x[1] - this.full.x[0]) / 1e7);
    if (this.y) this.y = Viewport.clamp(y, this.full.y, this.smallestY || 1);
    this.draw();
  }
  zoom(factor, px = this.left + this.innerWidth / 2, py = this.top + this.innerHeight / 2) {
    const around = (part, center) => part.map((end) => center + (end - center) * factor);
    this.set(around(this.x, this.fromX(px)), this.y && around(this.y, this.fromY(py)));
  }
  /// By shares of what is in view.
  move(dx, dy) {
    const by = (part, share) => part.map((end) => end + share * (part[1] - part[0]));
    this.set(by(this.x, dx), this.y && by(this.y, dy));
  }
  reset() { this.set([...this.full.x], this.full.y && [...this.full.y]); }

  key(event) {
    const acts = {"+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(), Home: () => this.reset(),
      ArrowLeft: () => this.move(-0.15, 0), ArrowRight: () => this.move(0.15, 0)};
    if (this.y) Object.assign(acts, {ArrowUp: () => this.move(0, -0.15), ArrowDown: () => this.move(0, 0.15)});
    if (!(event.key in acts) || event.ctrlKey || event.metaKey) return;
    acts[event.key]();
    event.preventDefault();
  }
  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.local(event));
    this.start = this.local(event);
    this.moved = false;
    this.canvas.focus({preventScroll: true});
  }
  drag(event) {
    const now = this.local(event), before = this.pointers.get(event.pointerId);
    if (!before) {
      const text = this.onpoint(...now);
      if (text) tip.show(event.clientX, event.clientY, text);
      else tip.hide();
      return;
    }
    tip.hide();
    if (Math.hypot(now[0] - this.start[0], now[1] - this.start[1]) > 4) this.moved = true;
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const distance = ([x, y]) => Math.max(10, Math.hypot(x - other[0], y - other[1]));
      this.zoom(distance(before) / distance(now), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else if (this.moved) this.move((before[0] - now[0]) / this.innerWidth, (before[1] - now[1]) / this.innerHeight);
    this.pointers.set(event.pointerId, now);
  }
  up(event) {
    const was = this.pointers.delete(event.pointerId);
    if (was && !this.moved && event.type === "pointerup") this.onclick(...this.local(event));
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (width === 0) return; // its tab is closed
    const scale = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.clearRect(0, 0, width, this.height);
    context.font = "12px system-ui, sans-serif";
    this.drawing(context, width, this.height);
    // For those who look from outside: the part in view.
    this.canvas.dataset.from = this.x[0];
    this.canvas.dataset.to = this.x[1];
  }
  /// Round numbers along x.
  ticks(most) {
    const length = this.x[1] - this.x[0], raw = length / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
    this.step = step;
    const list = [];
    for (let t = Math.ceil(this.x[0] / step) * step; t <= this.x[1]; t += step) list.push(t);
    return list;
  }
  /// As many digits as neighboring ticks need to differ.
  tickText(t) {
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([n]) => this.x[1] >= n) || [1, "ns"];
    const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(this.step / size) - 1e-9)));
    return `${(t / size).toFixed(digits)}\u202f${unit}`;
  }
  drawTimeAxis(context, width) {
    context.fillStyle = cssColor("--soft");
    context.strokeStyle = cssColor("--line");
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const t of this.ticks(width / 110)) {
      const px = Math.round(this.toX(t)) + 0.5;
      context.beginPath();
      context.moveTo(px, this.top - 6);
      context.lineTo(px, this.height);
      context.stroke();
      if (px + 60 < width) context.fillText(this.tickText(t), px + 4, 13);
    }
  }
}
