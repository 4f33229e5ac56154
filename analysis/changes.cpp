#include "analysis/changes.h"

#include "fade/gpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace fade::profile {
namespace {

uint64_t scaled(uint64_t value, double factor) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(value) * factor));
}

/// Accesses that a wave keeps at least when its work is shared out.
constexpr double kLeastAccesses = 4;

/// How many times as many workgroups there could be: cut into pieces of at least a wave, and with
/// what waves do in loops over memory shared among more of them.
struct Spread {
  double cut = 1, shared = 1;
  double all() const { return cut * shared; }
};

Spread spreadOf(const KernelProfile &kernel, const GpuModel &gpu) {
  const double groups = std::max(kernel.perDispatch(kernel.workgroups), 1.0);
  const double waves = std::max<double>(static_cast<double>(kernel.waves), 1);
  double accesses = 0;
  for (const report::Access &access : kernel.accesses)
    if (access.machine != "scalar") accesses += static_cast<double>(access.executions);
  const double wanted = std::max(gpu.units / groups, 1.0);
  const double pieces =
      std::max(waves / static_cast<double>(std::max<uint64_t>(kernel.workgroups, 1)), 1.0);
  // What a wave computes step by step is its own.
  const double shares = std::max(accesses / waves / kLeastAccesses, 1.0);
  Spread spread;
  // Waves that work on something in LDS have their loops for that: smaller workgroups come first.
  if (kernel.lds_turns != 0) {
    spread.cut = std::min(wanted, pieces);
    spread.shared = std::min(wanted / spread.cut, shares);
  } else {
    spread.shared = std::min(wanted, shares);
    spread.cut = std::min(wanted / spread.shared, pieces);
  }
  return spread;
}

/// Every wave has what it does once, and waits at least once for what it loads in a loop; the rest
/// of what it does again and again, in a loop or what has become of one, others can do for it.
void repeatInEachWave(KernelProfile &kernel, const GpuModel &gpu, double shared) {
  using Place = std::tuple<std::string, uint32_t, uint32_t, std::string>;
  const auto placeOf = [](const ProfiledInstruction &one) {
    return Place(one.file, one.line,
                 one.line == 0 ? static_cast<uint32_t>(one.address) : one.column,
                 one.text.substr(0, one.text.find(' ')));
  };
  struct Cycles {
    double all = 0, once = 0; ///< of all waves; of the longest execution, by all waves that have it
  };
  const std::vector<InstructionTime> times = timelineOf(kernel, gpu);
  const auto waves = static_cast<double>(std::max<uint64_t>(kernel.waves, 1));
  std::map<Place, Cycles> places;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto executions = static_cast<double>(kernel.instructions[i].executions);
    const double cycles = times[i].issue + times[i].waits;
    Cycles &place = places[placeOf(kernel.instructions[i])];
    place.all += executions * cycles;
    place.once = std::max(place.once, std::min(executions, waves) * cycles);
  }
  for (ProfiledInstruction &one : kernel.instructions) {
    const Cycles &place = places[placeOf(one)];
    if (place.all <= 0) continue;
    const double factor = std::max(shared * place.once / place.all, 1.0);
    one.executions = scaled(one.executions, factor);
    one.lanes = scaled(one.lanes, factor);
  }
}

} // namespace

void coalesce(report::Access &access, const KernelProfile &kernel, bool lines) {
  report::CacheTraffic &t = access.cache;
  if (lines) {
    const GpuInfo *gpu = findGpu(kernel.target);
    const uint32_t line = gpu && gpu->card.l1.line != 0 ? gpu->card.l1.line : kUsualLine;
    const uint64_t needed = linesOfL1(access, kernel.line_size, line).needed;
    if (t.is_known) {
      // Lines that are used again later are asked for once all the same.
      const uint64_t missed = std::min(t.requests - std::min(t.l1_hits, t.requests), needed);
      const uint64_t from_memory =
          std::min(t.requests - std::min(t.l1_hits + t.l2_hits, t.requests), missed);
      t.requests = std::min(t.requests, needed);
      t.l1_hits = t.requests - std::min(missed, t.requests);
      t.l2_hits = missed - from_memory;
    }
    access.used -= std::min(access.wasted, access.used);
    access.wasted = 0;
  }
  t.fetched -= std::min(t.fetched, t.unused);
  t.written -= std::min(t.written, t.unwanted);
  t.unused = t.unwanted = 0;
}

void collectInLds(KernelProfile &kernel, std::size_t access) {
  report::Access &one = kernel.accesses[access];
  one.hottest = std::min(one.hottest, std::max<uint64_t>(kernel.workgroups, 1));
  for (ProfiledInstruction &each : kernel.instructions) {
    if (each.info.memory != codeobj::MemoryOperation::Atomic ||
        each.info.unit != codeobj::Unit::Vmem || each.file != one.file || each.line != one.line ||
        each.column != one.column)
      continue;
    each.info.unit = codeobj::Unit::Lds; // what waits for global memory does not wait for it
    each.info.space = codeobj::MemorySpace::Lds;
  }
}

namespace {

/// Of each instruction those for which it is there. Scalar ones have those of the vector
/// instructions beside them: which lanes are active while a mask changes is another matter, and
/// counts of blocks do not tell.
std::vector<uint64_t> servedLanes(const KernelProfile &kernel) {
  const auto &all = kernel.instructions;
  std::vector<uint64_t> lanes;
  for (const ProfiledInstruction &one : all) lanes.push_back(one.lanes);
  const auto take = [&](auto from, auto to, auto step) {
    std::optional<std::size_t> last;
    for (auto i = from; i != to; i += step) {
      const auto at = static_cast<std::size_t>(i);
      const codeobj::Unit unit = all[at].info.unit;
      if (unit == codeobj::Unit::Valu || unit == codeobj::Unit::Vmem ||
          unit == codeobj::Unit::Lds || unit == codeobj::Unit::Matrix)
        last = at;
      else if (last && all[*last].executions == all[at].executions)
        lanes[at] = all[*last].lanes;
    }
  };
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  take(count - 1, std::ptrdiff_t{-1}, -1);
  take(std::ptrdiff_t{0}, count, 1); // what stands before it comes first
  return lanes;
}

} // namespace

void fillLanes(KernelProfile &kernel, const GpuModel &gpu) {
  const std::vector<uint64_t> lanes = servedLanes(kernel);
  const double present = kernel.presentShare();
  const std::vector<InstructionTime> times = timelineOf(kernel, gpu);
  const bool has_barriers =
      std::ranges::any_of(kernel.instructions, [](const ProfiledInstruction &one) {
        return one.info.unit == codeobj::Unit::Barrier && one.executions != 0;
      });
  // A wave that has to do it takes as long as before. What the same number of lanes executes is of
  // one wave; without barriers, at which all wait for it, only as far as no mask changes, and what
  // it does again and again can be for fewer times.
  double all = 0, common = 0, longest = 0, section = 0;
  std::map<std::pair<uint64_t, uint64_t>, double> of_wave;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    ProfiledInstruction &one = kernel.instructions[i];
    if (one.executions == 0) continue;
    const double cycles = static_cast<double>(one.executions) * (times[i].issue + times[i].waits);
    const double share = static_cast<double>(lanes[i]) /
                         (static_cast<double>(one.executions) * kernel.wave_size * present);
    all += cycles;
    const bool is_full = lanes[i] == 0 || share >= 1;
    const bool is_mask =
        one.info.unit == codeobj::Unit::Salu && one.text.find("exec") != one.text.npos;
    if (!has_barriers && (is_full || is_mask)) of_wave.clear();
    if (one.info.unit == codeobj::Unit::Barrier) {
      longest += std::exchange(section, 0);
      of_wave.clear();
    }
    if (is_full) {
      common += cycles;
      continue;
    }
    // The waves that have it at all, which may be few of them.
    const double of_one = static_cast<double>(std::max(one.executions, kernel.waves)) *
                          (times[i].issue + times[i].waits);
    if (has_barriers || one.executions <= kernel.waves)
      section = std::max(section, of_wave[{one.executions, lanes[i]}] += of_one);
    one.executions = std::max<uint64_t>(scaled(one.executions, share), 1);
  }
  // Where waves have a SIMD to themselves or wait for each other, the longest one decides. Among
  // others it matters less, and how waves differ in what they compute is not known.
  const ModelTime now = modelTime(kernel, gpu);
  const bool are_alone = now.occupancy.rounds <= 1 && now.occupancy.resident <= 1;
  const double average = now.wave_ns * gpu.clock_hz / 1e9 * static_cast<double>(kernel.waves);
  if (kernel.is_counted && average > 0 && (are_alone || has_barriers))
    kernel.longest_wave =
        std::max(kernel.longest_wave, std::min(common + longest + section, all) / average);
}

void fillWaves(KernelProfile &kernel) {
  const double filled = kernel.presentShare();
  kernel.waves = std::max<uint64_t>(scaled(kernel.waves, filled), 1);
  for (ProfiledInstruction &one : kernel.instructions)
    if (one.executions != 0) one.executions = std::max<uint64_t>(scaled(one.executions, filled), 1);
}

void spreadWorkgroups(KernelProfile &kernel, const GpuModel &gpu) {
  const Spread spread = spreadOf(kernel, gpu);
  if (spread.shared > 1) repeatInEachWave(kernel, gpu, spread.shared);
  kernel.workgroups = scaled(kernel.workgroups, spread.all());
  kernel.workgroup_items =
      std::max(static_cast<uint32_t>(scaled(kernel.workgroup_items, 1 / spread.cut)), 1u);
  kernel.waves = scaled(kernel.waves, spread.shared);
  kernel.items = scaled(kernel.items, spread.shared);
}

bool leavesUnitsIdle(const ModeledKernel &kernel) {
  constexpr double kFew = 0.5; // of the compute units, as for the class
  return kernel.time.occupancy.units < kFew * kernel.gpu.units &&
         spreadOf(kernel.counts, kernel.gpu).all() > 1;
}

void keepInRegisters(KernelProfile &kernel) {
  for (ProfiledInstruction &one : kernel.instructions)
    if (one.info.space == codeobj::MemorySpace::Scratch) one.executions = one.lanes = 0;
  kernel.scratch_bytes = kernel.lane_scratch = 0;
}

void give(const Room &room, KernelProfile &kernel) {
  if (kernel.registers && room.vgprs != 0) {
    kernel.registers->vgprs = room.vgprs;
    kernel.registers->agprs = 0;
  }
  if (room.lds != 0) kernel.lds_bytes = room.lds;
}

std::optional<Room> moreRoom(const ModeledKernel &kernel) {
  const ModelOccupancy &now = kernel.time.occupancy;
  const KernelProfile &counts = kernel.counts;
  const bool by_registers = now.limit == "vgprs" && counts.registers;
  if (!by_registers && now.limit != "lds") return std::nullopt;
  std::vector<std::pair<double, Room>> tried; // times, from little changed to much
  if (by_registers) {
    const uint32_t taken = counts.registers->vgprs + counts.registers->agprs;
    for (const uint32_t vgprs : {256u, 168u, 128u, 96u, 84u, 80u, 72u, 64u, 48u, 40u, 32u, 24u})
      if (vgprs < taken) tried.push_back({0, {vgprs, 0, 0}});
  } else {
    for (const uint64_t part : {2u, 3u, 4u, 6u, 8u, 16u, 32u})
      tried.push_back({0, {0, std::max<uint64_t>(counts.lds_bytes / part, 1), 0}});
  }
  double best = kernel.time.busy();
  for (auto &[ns, room] : tried) {
    KernelProfile changed = counts;
    give(room, changed);
    const ModelTime time = modelTime(changed, kernel.gpu);
    ns = time.busy();
    room.waves = time.occupancy.possible;
    best = std::min(best, ns);
  }
  constexpr double kNearly = 1.05;
  for (const auto &[ns, room] : tried)
    if (best < kernel.time.busy() && ns <= kNearly * best) return room;
  return std::nullopt;
}

} // namespace fade::profile
