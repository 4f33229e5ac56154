// Where a kernel stands under the roof: operations per byte, and what the processor could do at most.

/// What the model says of a kernel, which is what the page "Profile" shows; null if nobody has counted its instructions.
function modelOf(kernel) {
  const {name, target} = data.kernels[kernel];
  return data.profile ? data.profile.kernels.find((one) => one.counted && one.kernel === name && (!target || one.target === target)) || null : null;
}

function rooflineCard(kernel) {
  const model = modelOf(kernel), peaks = data.kernels[kernel].peaks;
  const missing = (text) => el("p", {class: "soft"}, text);
  if (!model) return missing("No roofline: operations were not counted. On the software GPU, --observe gpu counts them.");
  const r = model.roofline, work = {flops: r.flops.all, bytes: r.bytes.dram};
  if (!peaks) return missing(`${brief(work.flops)} floating-point operations, ${bytes(work.bytes)} of memory. The rates of ${data.kernels[kernel].target || "this GPU"} are not known.`);
  if (!work.flops || !work.bytes) return missing(`${brief(work.flops)} floating-point operations and ${bytes(work.bytes)} of memory: there is no point in the roofline.`);
  const intensity = work.flops / work.bytes, roofName = `${r.roof.unit} operations of ${r.roof.type}`, peak = r.roof.flops_per_s, ridge = peak / peaks.bytes_per_s;
  const bound = r.attainable_flops_per_s, reached = Math.min(r.flops_per_s || bound, bound), perByte = count(Number(intensity.toPrecision(3)));
  const width = 420, height = 200, left = 52, bottom = 30, low = Math.min(0.01, intensity / 4), high = Math.max(1000, intensity * 4);
  const x = (v) => left + Math.log(v / low) / Math.log(high / low) * (width - left - 14);
  const floor = Math.min(low * peaks.bytes_per_s, reached / 2), y = (v) => 16 + Math.log(peak * 2 / v) / Math.log(peak * 2 / floor) * (height - bottom - 16);
  const text = (at, attributes, what) => el("text", {x: at[0], y: at[1], ...attributes}, what);
  const rate = (v) => `${brief(Math.round(v / 1e9))} GFLOP/s`;
  const svg = el("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${perByte} operations per byte; at most ${rate(bound)}`},
    el("path", {class: "roof", d: `M${x(low)},${y(low * peaks.bytes_per_s)} L${x(ridge)},${y(peak)} L${x(high)},${y(peak)}`}),
    el("line", {class: "here", x1: x(intensity), x2: x(intensity), y1: height - bottom, y2: y(bound)}),
    el("circle", {class: "here", cx: x(intensity), cy: y(reached), r: 4}),
    [0.01, 0.1, 1, 10, 100, 1000].filter((v) => v >= low && v <= high).map((v) => text([x(v), height - 12], {"text-anchor": "middle", class: "soft"}, String(v))),
    text([width - 10, y(peak) - 6], {"text-anchor": "end", class: "soft"}, rate(peak)),
    text([x(intensity) + (x(intensity) > width / 2 ? -8 : 8), Math.min(y(bound) + 16, height - bottom - 4)], {"text-anchor": x(intensity) > width / 2 ? "end" : "start"}, `${perByte} per byte`));
  return el("div", {class: "roofline"}, svg, el("p", {class: "soft"},
    `${brief(work.flops)} floating-point operations, ${bytes(work.bytes)} of memory: at most ${rate(bound)} of ${rate(peak)} (${roofName}, ${peaks.card}), where ${intensity < ridge ? "memory" : "arithmetic"} would limit it. It reaches ${rate(reached)} in ${time(r.time.dispatch_ns)}, ${r.time.is}: ${model.classification.reason}.`));
}
