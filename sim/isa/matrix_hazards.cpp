// The numbers are those of AMD's manuals of the MI100, MI200 and MI300 instruction sets, tables
// "required software-inserted wait states" and "dependency resolution: required independent
// instructions"; of gfx950, what LLVM 22 waits.
#include "isa/matrix_hazards.h"

#include <algorithm>

namespace fade::sim {
namespace {

bool has_kind(const HazardUse &use, HazardKind kind) {
  return use.kinds & static_cast<uint32_t>(kind);
}
bool is_memory(const HazardUse &use) {
  return has_kind(use, HazardKind::vmem) || has_kind(use, HazardKind::lds) ||
         has_kind(use, HazardKind::exports);
}
bool same(const ObservedRange &a, const ObservedRange &b) {
  return a.vector == b.vector && a.first == b.first && a.count == b.count;
}

/// By how long an instruction takes: 2, 4, 8 or 16 passes.
unsigned by_passes(unsigned passes, unsigned two, unsigned four, unsigned eight, unsigned sixteen) {
  return passes <= 2 ? two : passes <= 4 ? four : passes <= 8 ? eight : sixteen;
}

/// On gfx950 those of more than two passes take one longer to be seen.
unsigned later(MatrixGpu gpu, const HazardUse &first) {
  return gpu == MatrixGpu::gfx950 && has_kind(first, HazardKind::xdl) && first.passes > 2 ? 1 : 0;
}

/// A result of f64: those of 16x16 take twice as long on gfx950.
unsigned of_f64(MatrixGpu gpu, const HazardUse &first, unsigned small, unsigned large,
                unsigned large_gfx950) {
  return first.passes == 4 ? small : gpu == MatrixGpu::gfx950 ? large_gfx950 : large;
}
unsigned until_read64(MatrixGpu gpu, const HazardUse &first) {
  return of_f64(gpu, first, 6, 11, 19);
}

/// A result that is not the accumulator of the next matrix instruction.
unsigned until_read(MatrixGpu gpu, const HazardUse &first) {
  if (gpu == MatrixGpu::gfx90a) return by_passes(first.passes, 5, 5, 11, 19);
  return first.passes + (has_kind(first, HazardKind::xdl) ? 3 : 2) + later(gpu, first);
}

/// From a matrix instruction's result to the next one's accumulator.
unsigned until_accumulated(MatrixGpu gpu, const HazardUse &first, const HazardUse &second,
                           bool is_same) {
  const bool first64 = has_kind(first, HazardKind::matrix64),
             second64 = has_kind(second, HazardKind::matrix64);
  if (first64 && !second64) {
    if (gpu == MatrixGpu::gfx90a) return 0;
    if (has_kind(second, HazardKind::xdl)) return 0;
  }
  if (is_same) {
    if (first64 && second64 && first.passes == 4 && second.passes == 4) return 4;
    return gpu != MatrixGpu::gfx90a && first.passes == 2 ? 2 : 0;
  }
  if (first64) return of_f64(gpu, first, 4, 9, 17);
  if (gpu == MatrixGpu::gfx90a)
    return second64 ? by_passes(first.passes, 3, 3, 9, 17) : by_passes(first.passes, 2, 2, 8, 16);
  if (has_kind(second, HazardKind::xdl) && !has_kind(first, HazardKind::xdl)) return 0;
  if (gpu == MatrixGpu::gfx950 && has_kind(second, HazardKind::xdl)) return first.passes + 2;
  return first.passes + (has_kind(first, HazardKind::xdl) ? 1 : 0) + later(gpu, first);
}

MatrixHazard between_matrices(MatrixGpu gpu, const HazardUse &first, const HazardUse &second) {
  MatrixHazard found;
  const ObservedRange &result = first.writes.front();
  for (unsigned i = 0; i < 3; i++) {
    const ObservedRange at = shared(result, second.abc[i]);
    if (!at.count) continue;
    unsigned states = 0;
    if (i == 2)
      states = until_accumulated(gpu, first, second, same(result, second.abc[2]));
    else if (has_kind(first, HazardKind::matrix64))
      states = until_read64(gpu, first);
    else
      states = until_read(gpu, first);
    if (states > found.states)
      found = {states, at,
               i == 2 ? "matrix result, then a part of it as accumulator"
                      : "matrix result, then matrix operand"};
  }
  // Scales, and the positions of a sparse matrix.
  for (const ObservedRange &r : second.reads) {
    const bool is_matrix =
        std::ranges::any_of(second.abc, [&](const ObservedRange &m) { return same(r, m); });
    if (const ObservedRange at = shared(result, r); at.count && !is_matrix)
      if (const unsigned states = until_read(gpu, first); states > found.states)
        found = {states, at, "matrix result, then matrix operand"};
  }
  return found;
}

MatrixHazard after_matrix(MatrixGpu gpu, const HazardUse &first, const HazardUse &second) {
  MatrixHazard found;
  const ObservedRange result[] = {first.writes.front()};
  const bool is64 = has_kind(first, HazardKind::matrix64);
  if (const ObservedRange at = shared(result, second.reads, true); at.count) {
    const unsigned states = !is64               ? until_read(gpu, first)
                            : is_memory(second) ? (first.passes == 4 ? 9 : 18)
                                                : until_read64(gpu, first);
    found = {states, at,
             is_memory(second) ? "matrix result, then memory instruction reads it"
                               : "matrix result, then VALU reads it"};
  }
  if (const ObservedRange at = shared(result, second.writes, true);
      at.count && has_kind(second, HazardKind::valu)) {
    const unsigned states = is64 ? (first.passes == 4 ? 6 : 11) : until_read(gpu, first);
    if (states > found.states) found = {states, at, "matrix result, then VALU writes it"};
  }
  const ObservedRange accumulator[] = {first.abc[2]};
  if (const ObservedRange at = shared(accumulator, second.writes, true);
      at.count && has_kind(second, HazardKind::valu) && !is64 &&
      (gpu == MatrixGpu::gfx90a || has_kind(first, HazardKind::xdl))) {
    const unsigned states = by_passes(first.passes, 1, 3, 7, 15);
    if (states > found.states) found = {states, at, "matrix accumulator, then VALU writes it"};
  }
  return found;
}

/// gfx908: accumulators are reached by v_accvgpr_read and v_accvgpr_write alone.
MatrixHazard on_gfx908(const HazardUse &first, const HazardUse &second) {
  const bool reads = has_kind(second, HazardKind::accumulator_read);
  const bool writes = has_kind(second, HazardKind::accumulator_write);
  const bool multiplies = has_kind(second, HazardKind::matrix);
  if (has_kind(first, HazardKind::matrix)) {
    const ObservedRange &result = first.writes.front();
    if (multiplies) {
      MatrixHazard found;
      for (unsigned i = 0; i < 3; i++) {
        const ObservedRange at = shared(result, second.abc[i]);
        if (!at.count || same(result, second.abc[i])) continue;
        const unsigned states = i == 2 ? 2 : 4;
        if (states > found.states) found = {states, at, "matrix result, then matrix operand"};
      }
      return found;
    }
    const ObservedRange results[] = {result}, accumulator[] = {first.abc[2]};
    if (reads)
      if (const ObservedRange at = shared(results, second.reads, true);
          at.count && !(result.count == 1))
        return {by_passes(first.passes, 4, 10, 10, 18), at, "matrix result, then v_accvgpr_read"};
    if (writes) {
      if (const ObservedRange at = shared(results, second.writes, true); at.count)
        return {by_passes(first.passes, 1, 7, 7, 15), at, "matrix result, then v_accvgpr_write"};
      if (const ObservedRange at = shared(accumulator, second.writes, true); at.count)
        return {by_passes(first.passes, 0, 5, 5, 13), at,
                "matrix accumulator, then v_accvgpr_write"};
    }
    return {};
  }
  if (has_kind(first, HazardKind::accumulator_write)) {
    if (multiplies)
      for (unsigned i = 0; i < 3; i++)
        if (const ObservedRange at = shared(first.writes.front(), second.abc[i]); at.count)
          return {i == 2 ? 1u : 3u, at, "v_accvgpr_write, then matrix operand"};
    if (reads)
      if (const ObservedRange at = shared(first.writes, second.reads, true); at.count)
        return {3, at, "v_accvgpr_write, then v_accvgpr_read"};
    return {};
  }
  if (has_kind(first, HazardKind::accumulator_read) && is_memory(second))
    if (const ObservedRange at = shared(first.writes, second.reads, true); at.count)
      return {2, at, "v_accvgpr_read, then memory instruction reads its result"};
  if (multiplies || writes)
    if (const ObservedRange at = shared(first.writes, second.reads, true);
        at.count && at.first < 256)
      return {2, at, "VALU write of a VGPR, then matrix operand"};
  return {};
}

} // namespace

ObservedRange shared(const ObservedRange &a, const ObservedRange &b) {
  if (a.vector != b.vector) return {};
  const unsigned first = std::max(a.first, b.first);
  const unsigned end = std::min(a.first + a.count, b.first + b.count);
  if (first >= end) return {};
  return {a.vector, static_cast<uint16_t>(first), static_cast<uint16_t>(end - first)};
}

ObservedRange shared(std::span<const ObservedRange> a, std::span<const ObservedRange> b,
                     bool vector) {
  for (const ObservedRange &x : a)
    if (x.vector == vector)
      for (const ObservedRange &y : b)
        if (const ObservedRange at = shared(x, y); at.count) return at;
  return {};
}

MatrixHazard matrix_hazard(MatrixGpu gpu, const HazardUse &first, const HazardUse &second) {
  if (gpu == MatrixGpu::none || first.writes.empty()) return {};
  if (gpu == MatrixGpu::gfx908) return on_gfx908(first, second);
  const bool multiplies = has_kind(second, HazardKind::matrix);
  if (has_kind(first, HazardKind::matrix))
    return multiplies ? between_matrices(gpu, first, second) : after_matrix(gpu, first, second);
  if (has_kind(first, HazardKind::dot)) {
    const bool is_other = first.opcode != second.opcode;
    const std::span<const ObservedRange> read =
        is_other ? std::span<const ObservedRange>(second.reads) : std::span(second.abc).first(2);
    if (const ObservedRange at = shared(first.writes, read, true); at.count)
      return {3, at, "v_dot result, then it is read"};
    if (!is_other || multiplies) return {};
    if (const ObservedRange at = shared(first.writes, second.writes, true);
        at.count && has_kind(second, HazardKind::valu))
      return {3, at, "v_dot result, then it is written"};
    return {};
  }
  if (multiplies)
    for (const std::span<const ObservedRange> read :
         {std::span<const ObservedRange>(second.abc), std::span<const ObservedRange>(second.reads)})
      if (const ObservedRange at = shared(first.writes, read, true); at.count)
        return {2, at, "VALU write of a VGPR, then matrix operand"};
  return {};
}

} // namespace fade::sim
