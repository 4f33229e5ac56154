// Where a kernel stands under the roof: operations per byte, and what the processor could do at most.

/// What was counted of a kernel: floating-point operations and bytes of global memory; null if nobody has.
function workOf(kernel) {
  const counts = data.counts.find((one) => one.kernel === kernel);
  if (!counts || !counts.flops || !counts.bytes) return null;
  const moved = (counts.bytes.loaded || 0) + (counts.bytes.stored || 0) + (counts.bytes.atomic || 0) + (counts.bytes.scalar_loaded || 0);
  return {flops: counts.flops.all || 0, matrix: counts.flops.matrix || 0, types: counts.flops, bytes: moved, dispatches: counts.dispatches};
}

/// The type of most operations, which is the roof they have.
function roofOf(work, peaks) {
  const of = (type) => work.types[type] || 0, type = ["f32", "f64", "f16", "bf16", "f8"].reduce((most, one) => of(one) > of(most) ? one : most);
  const [unit, rates] = 2 * work.matrix > work.flops && peaks.matrix[type] ? ["matrix", peaks.matrix] : ["vector", peaks.vector];
  return rates[type] ? [`${unit} operations of ${type}`, rates[type]] : ["vector operations of f32", peaks.vector.f32];
}

function rooflineCard(kernel) {
  const work = workOf(kernel), peaks = data.kernels[kernel].peaks;
  const missing = (text) => el("p", {class: "soft"}, text);
  if (!work) return missing("No roofline: operations were not counted. On the software GPU, --observe gpu counts them.");
  if (!peaks) return missing(`${brief(work.flops)} floating-point operations, ${bytes(work.bytes)} of memory. The rates of ${data.kernels[kernel].target || "this GPU"} are not known.`);
  if (!work.flops || !work.bytes) return missing(`${brief(work.flops)} floating-point operations and ${bytes(work.bytes)} of memory: there is no place under the roof.`);
  const intensity = work.flops / work.bytes, [roofName, peak] = roofOf(work, peaks), ridge = peak / peaks.bytes_per_s;
  const bound = Math.min(peak, intensity * peaks.bytes_per_s), perByte = count(Number(intensity.toPrecision(3)));
  const width = 420, height = 200, left = 52, bottom = 30, low = Math.min(0.01, intensity / 4), high = Math.max(1000, intensity * 4);
  const x = (v) => left + Math.log(v / low) / Math.log(high / low) * (width - left - 14);
  const floor = low * peaks.bytes_per_s, y = (v) => 16 + Math.log(peak * 2 / v) / Math.log(peak * 2 / floor) * (height - bottom - 16);
  const text = (at, attributes, what) => el("text", {x: at[0], y: at[1], ...attributes}, what);
  const rate = (v) => `${brief(Math.round(v / 1e9))} GFLOP/s`;
  const svg = el("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${perByte} operations per byte; at most ${rate(bound)}`},
    el("path", {class: "roof", d: `M${x(low)},${y(floor)} L${x(ridge)},${y(peak)} L${x(high)},${y(peak)}`}),
    el("line", {class: "here", x1: x(intensity), x2: x(intensity), y1: height - bottom, y2: y(bound)}),
    el("circle", {class: "here", cx: x(intensity), cy: y(bound), r: 4}),
    [0.01, 0.1, 1, 10, 100, 1000].filter((v) => v >= low && v <= high).map((v) => text([x(v), height - 12], {"text-anchor": "middle", class: "soft"}, String(v))),
    text([width - 10, y(peak) - 6], {"text-anchor": "end", class: "soft"}, rate(peak)),
    text([x(intensity) + (x(intensity) > width / 2 ? -8 : 8), Math.min(y(bound) + 16, height - bottom - 4)], {"text-anchor": x(intensity) > width / 2 ? "end" : "start"}, `${perByte} per byte`));
  return el("div", {class: "roofline"}, svg, el("p", {class: "soft"},
    `${brief(work.flops)} floating-point operations, ${bytes(work.bytes)} accessed by lanes: ${intensity < ridge ? "memory" : "arithmetic"} limits it, to ${rate(bound)} at most of ${rate(peak)} (${roofName}, ${peaks.card}). Caches may deliver a part of the bytes.`));
}
