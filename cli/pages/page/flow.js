// Basic blocks with how often they ran, on the control-flow graph that lanes really took. Without
// recorded ways (kernels compiled with counts only) the blocks stand in order.

const flowView = {};

/// From the page of a kernel.
function openFlow(kernel) {
  showTab("blocks");
  const at = flowView.order ? flowView.order.findIndex((flow) => flow.kernel === kernel) : -1;
  if (at < 0) return;
  flowView.select.value = at;
  showFlow(flowView.order[at]);
}

function blocksPanel() {
  if (data.flows.length === 0) return el("p", {class: "empty"}, "No block was counted: compile the kernels with fadeprobe cc, which records blocks unless --instrument says otherwise.");
  const most = (flow) => Math.max(...flow.blocks.map((b) => b.executions));
  const order = [...data.flows].sort((a, b) => b.blocks.length - a.blocks.length || most(b) - most(a));
  const select = el("select", {"aria-label": "kernel", onchange: () => showFlow(order[select.value])},
    order.map((flow, i) => el("option", {value: i}, shortKernel(flow.kernel))));
  Object.assign(flowView, {order, select});
  flowView.holder = el("div", {class: "card"});
  flowView.note = el("p", {class: "soft"});
  showFlow(order[0]);
  return el("div", {}, el("div", {class: "tools"}, select), flowView.note, flowView.holder,
    el("p", {class: "keys"}, "Tab goes from block to block, Enter shows its numbers. The bar at the bottom of a block is the share of the wave's lanes that were active."));
}

function blockLines(block) {
  const lines = [...new Set(block.lines.map(([, line]) => line))].sort((a, b) => a - b), parts = [];
  for (let i = 0; i < lines.length;) {
    let end = i;
    while (end + 1 < lines.length && lines[end + 1] === lines[end] + 1) ++end;
    parts.push(i === end ? `${lines[i]}` : `${lines[i]}–${lines[end]}`);
    i = end + 1;
  }
  if (parts.length === 0) return "no line";
  return (lines.length > 1 ? "lines " : "line ") + (parts.length > 3 ? parts.slice(0, 3).join(", ") + ", …" : parts.join(", "));
}

/// Ranks by the longest way from the entry; edges that go back are left out of it.
function layoutFlow(flow) {
  const ids = flow.blocks.map((b) => b.id), next = new Map(ids.map((id) => [id, []]));
  for (const [from, to] of flow.edges) if (from !== null && next.has(from) && next.has(to)) next.get(from).push(to);
  const state = new Map(), back = new Set(), finished = [];
  const starts = [...flow.edges.filter(([from]) => from === null).map(([, to]) => to).filter((to) => next.has(to)), ...ids];
  for (const start of starts) {
    if (state.has(start)) continue;
    const stack = [[start, 0]];
    state.set(start, 1);
    while (stack.length) {
      const top = stack[stack.length - 1], [id, i] = top;
      if (i === next.get(id).length) { state.set(id, 2); finished.push(id); stack.pop(); continue; }
      ++top[1];
      const to = next.get(id)[i];
      if (state.get(to) === 1) back.add(`${id} ${to}`);
      else if (!state.has(to)) { state.set(to, 1); stack.push([to, 0]); }
    }
  }
  const rank = new Map(ids.map((id) => [id, 0]));
  for (const id of finished.reverse())
    for (const to of next.get(id)) if (!back.has(`${id} ${to}`)) rank.set(to, Math.max(rank.get(to), rank.get(id) + 1));
  if (flow.edges.length === 0) ids.forEach((id, i) => rank.set(id, i));
  // Blocks that never ran have no ways: they come last.
  const lastRank = Math.max(...rank.values());
  const isolated = flow.blocks.filter((b) => flow.edges.length && !flow.edges.some(([from, to]) => from === b.id || to === b.id));
  isolated.forEach((b, i) => rank.set(b.id, lastRank + 1 + Math.floor(i / 4)));
  return {rank, back};
}

/// Out to `side`, along it, and back in.
function around(x1, y1, x2, y2, side) {
  const out = Math.sign(side - x1), turn = 14, down = Math.sign(y2 - y1);
  return `M${x1},${y1}H${side - out * turn}Q${side},${y1} ${side},${y1 + down * turn}V${y2 - down * turn}Q${side},${y2} ${side - out * turn},${y2}H${x2}`;
}

/// The head of an arrow that arrives at x, y from the side dx, dy.
function arrow(x, y, dx, dy, size, kind) {
  const [bx, by] = [x + dx * size * 1.6, y + dy * size * 1.6];
  return el("path", {class: `head ${kind}`, d: `M${x},${y}L${bx + dy * size * 0.8},${by + dx * size * 0.8}L${bx - dy * size * 0.8},${by - dx * size * 0.8}Z`});
}

function showFlow(flow) {
  const {rank, back} = layoutFlow(flow), boxWidth = 188, boxHeight = 58, gapX = 26, gapY = 46, margin = 110;
  const rows = [];
  for (const block of flow.blocks) (rows[rank.get(block.id)] ||= []).push(block);
  const widest = Math.max(...rows.filter(Boolean).map((row) => row.length));
  const width = widest * (boxWidth + gapX) - gapX + 2 * margin, at = new Map();
  let y = 16;
  for (const row of rows.filter(Boolean)) {
    const from = (width - (row.length * (boxWidth + gapX) - gapX)) / 2;
    row.forEach((block, i) => at.set(block.id, {x: from + i * (boxWidth + gapX), y}));
    y += boxHeight + gapY;
  }
  const svg = el("svg", {viewBox: `0 0 ${width} ${y - gapY + 16}`, width, height: y - gapY + 16, role: "group", "aria-label": `blocks of ${data.kernels[flow.kernel].name}`});
  // Ways that pass other blocks go around them, beyond the outermost of the rows between.
  const edgeOf = (from, to, side) => {
    const [low, high] = [Math.min(rank.get(from), rank.get(to)), Math.max(rank.get(from), rank.get(to))];
    const spots = flow.blocks.filter((b) => rank.get(b.id) >= low && rank.get(b.id) <= high).map((b) => at.get(b.id).x);
    return side < 0 ? Math.min(...spots) : Math.max(...spots) + boxWidth;
  };
  const mostLanes = Math.max(1, ...flow.edges.map((edge) => edge[3]));
  const labels = [];
  for (const [from, to, executions, lanes] of flow.edges) {
    const a = at.get(from), b = at.get(to);
    if (!b) continue;
    const thick = 1 + 3 * Math.sqrt(lanes / mostLanes);
    let path, lx, ly, tip = [b.x + boxWidth / 2, b.y, 0, -1]; // where the arrow ends, and from which side
    if (!a) { path = `M${b.x + boxWidth / 2},${b.y - 14}V${b.y - 3}`; }
    else if (back.has(`${from} ${to}`)) {
      const side = edgeOf(from, to, 1) + 30, sy = a.y + boxHeight * 0.7, ey = b.y + boxHeight * 0.3;
      path = around(a.x + boxWidth, sy, b.x + boxWidth + 3, ey, side);
      tip = [b.x + boxWidth, ey, 1, 0];
      // Where the way is short, the number stands beside it.
      [lx, ly] = [side + (Math.abs(sy - ey) < 40 ? brief(lanes).length * 3.5 + 5 : 0), (sy + ey) / 2];
    } else if (rank.get(to) > rank.get(from) + 1) {
      const side = edgeOf(from, to, -1) - 26 - 20 * (rank.get(to) - rank.get(from) - 2) / 4, sy = a.y + boxHeight * 0.7, ey = b.y + boxHeight * 0.3;
      path = around(a.x, sy, b.x - 3, ey, side);
      tip = [b.x, ey, -1, 0];
      [lx, ly] = [side - brief(lanes).length * 3.5 - 6, (sy + ey) / 2];
    } else {
      const sx = a.x + boxWidth / 2, ex = b.x + boxWidth / 2, sy = a.y + boxHeight, ey = b.y - 3;
      path = `M${sx},${sy}C${sx},${sy + gapY * 0.6} ${ex},${ey - gapY * 0.6} ${ex},${ey}`;
      [lx, ly] = [(sx + ex) / 2, (sy + ey) / 2];
    }
    const kind = back.has(`${from} ${to}`) ? "back" : "";
    svg.append(el("path", {d: path, class: `way ${kind}`, "stroke-width": thick.toFixed(1)}, el("title", {}, `${count(lanes)} lanes in ${count(executions)} executions`)),
      arrow(...tip, 3 + thick, kind));
    if (lx !== undefined) {
      const text = brief(lanes), half = text.length * 3.5 + 3;
      labels.push(el("rect", {class: "blank", x: lx - half, y: ly - 8, width: 2 * half, height: 16}), el("text", {class: "count", x: lx, y: ly + 4, "text-anchor": "middle"}, text));
    }
  }
  const most = Math.max(1, ...flow.blocks.map((b) => b.executions));
  for (const block of flow.blocks) svg.append(blockNode(block, at.get(block.id), boxWidth, boxHeight, most, flow));
  svg.append(...labels);
  flowView.detail = el("div", {});
  flowView.svg = svg;
  const scroll = el("div", {class: "flow"}, svg);
  flowView.holder.replaceChildren(scroll, flowView.detail);
  requestAnimationFrame(() => { scroll.scrollLeft = (scroll.scrollWidth - scroll.clientWidth) / 2; });
  flowView.note.textContent = `${count(flow.blocks.length)} blocks, waves of ${flow.wave_size} lanes. ` +
    (flow.edges.length ? "Numbers on edges count lanes." : "Edges were not recorded: compile with blocks to see them.");
}

function blockNode(block, {x, y}, width, height, most, flow) {
  const share = block.executions ? block.lanes / (block.executions * flow.wave_size) : 0;
  const node = el("g", {class: `node${block.executions ? "" : " never"}`, tabindex: "0", role: "button", transform: `translate(${x},${y})`,
    "aria-label": `${blockLines(block)}: ${count(block.executions)} executions, ${percent(share)} of lanes`,
    onclick: () => chooseBlock(node, block, share), onkeydown: (event) => {
      if (event.key === "Enter" || event.key === " ") { chooseBlock(node, block, share); event.preventDefault(); }
    }},
    el("rect", {class: "box", width, height, rx: 6}),
    el("rect", {class: "heat", width, height, rx: 6, opacity: (0.22 * block.executions / most).toFixed(3)}),
    el("text", {x: 12, y: 22}, blockLines(block)),
    el("text", {x: 12, y: 41, class: "soft"}, block.executions ? `${count(block.executions)} × ${percent(share)}` : "never ran"));
  if (block.executions) node.append(el("rect", {class: "track", x: 12, y: height - 8, width: width - 24, height: 3, rx: 1.5}),
    el("rect", {class: "share", x: 12, y: height - 8, width: (width - 24) * share, height: 3, rx: 1.5}));
  return node;
}

function chooseBlock(node, block, share) {
  for (const other of flowView.svg.querySelectorAll(".chosen")) other.classList.remove("chosen");
  node.classList.add("chosen");
  const facts = [["executions", count(block.executions)], ["lanes", `${count(block.lanes)}, ${percent(share)} of the waves' lanes`]];
  if (block.divergent !== null) facts.push(["divergent", `${count(block.divergent)} executions with fewer lanes than the wave has`]);
  if (block.splits !== null) facts.push(["splits", `${count(block.splits)} times its branch diverged`]);
  if (block.clocks !== null) facts.push(["clocks", `${count(block.clocks)}, ${count(Math.round(block.clocks / Math.max(1, block.executions)))} per execution`]);
  const [file, line] = block.lines[0] || [-1, 0];
  flowView.detail.replaceChildren(el("div", {class: "detail"}, el("dl", {class: "facts"}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    line ? [el("dt", {}, "source"), el("dd", {}, el("button", {type: "button", onclick: () => openSource(file, line)}, `${fileName(file)}, ${blockLines(block)}`))] : null)));
}
