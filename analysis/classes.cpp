#include "analysis/classes.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::profile {
namespace {

constexpr std::array<Threshold, 5> kThresholds = {{
    {"launch_share", 0.5, "launch overhead if beginning and end take more than this of the time"},
    {"units_share", 0.5, "under-occupied if fewer than this of the compute units have a workgroup"},
    {"waves_share", 0.5,
     "where waiting takes longest: under-occupied if a SIMD has less than this of the waves that "
     "it "
     "can hold, else latency"},
    {"lane_share", 0.6,
     "where arithmetic takes longest: divergence if less than this of the lanes take part, else "
     "compute throughput"},
    {"wait_share", 0.5,
     "where waiting takes longest: if waves wait less than this of their time, their instructions "
     "one after the other do, and unless waves are too few the unit that takes longest decides"},
}};

double shareOf(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// What a limit means, as long as no threshold says more.
KernelClass classOf(Limit limit) {
  switch (limit) {
  case Limit::valu:
  case Limit::matrix:
  case Limit::scalar: return KernelClass::compute_throughput;
  case Limit::lds: return KernelClass::lds;
  case Limit::l1:
  case Limit::l2:
  case Limit::memory: return KernelClass::memory_bandwidth;
  case Limit::atomics:
  case Limit::latency: return KernelClass::latency;
  }
  return KernelClass::unknown;
}

struct Shares {
  double launch = 0, units = 0, waves = 0, lanes = 0, waiting = 0;

  /// Waves that hardly wait are held up by their own instructions, one after the other.
  bool areBusy() const { return waiting < valueOf(Decides::wait_share); }
};

/// `unit`: what takes longest but for waiting.
KernelClass decide(Limit longest, Limit unit, const Shares &shares) {
  if (shares.launch > valueOf(Decides::launch_share)) return KernelClass::launch_overhead;
  if (shares.units < valueOf(Decides::units_share)) return KernelClass::under_occupied;
  const bool are_few = shares.lanes < valueOf(Decides::lane_share);
  if (longest == Limit::latency) {
    const bool is_divergent = are_few && classOf(unit) == KernelClass::compute_throughput;
    if (shares.waves < valueOf(Decides::waves_share) && !(shares.areBusy() && is_divergent))
      return KernelClass::under_occupied;
    if (!shares.areBusy()) return KernelClass::latency;
    longest = unit;
  }
  const KernelClass plain = classOf(longest);
  // That of the scalar unit, too: loops that few lanes go on with branch for all of them.
  if (plain == KernelClass::compute_throughput && are_few) return KernelClass::divergence;
  return plain;
}

/// The class that it would have if something were a little different, and how much that is.
void findNext(const ModelTime &time, Limit unit, const Shares &shares, Classification &result) {
  const auto consider = [&](KernelClass kind, double nearness) {
    if (kind == result.kind || nearness <= result.nearness) return;
    result.next = kind;
    result.nearness = std::min(nearness, 1.0);
  };
  // Another limit in the place of the longest.
  for (std::size_t i = 0; i < kLimits; ++i)
    if (const auto limit = static_cast<Limit>(i); limit != result.limit)
      consider(decide(limit, unit,
                      result.kind == KernelClass::launch_overhead
                          ? Shares{0, shares.units, shares.waves, shares.lanes, shares.waiting}
                          : shares),
               shareOf(time.ns[i],
                       result.kind == KernelClass::launch_overhead ? time.launch_ns : time.busy()));
  // The same limit on the other side of a threshold.
  const auto across = [&](double value, Decides threshold, auto &&change) {
    Shares other = shares;
    const double at = valueOf(threshold);
    change(other, value < at ? at + 0.01 : at - 0.01);
    consider(decide(result.limit, unit, other), value < at ? value / at : (1 - value) / (1 - at));
  };
  across(shares.launch, Decides::launch_share, [](Shares &s, double v) { s.launch = v; });
  across(shares.units, Decides::units_share, [](Shares &s, double v) { s.units = v; });
  across(shares.waves, Decides::waves_share, [](Shares &s, double v) { s.waves = v; });
  across(shares.lanes, Decides::lane_share, [](Shares &s, double v) { s.lanes = v; });
  across(shares.waiting, Decides::wait_share, [](Shares &s, double v) { s.waiting = v; });
}

/// Whether most of what memory delivers and takes is the rest of lines.
bool movesForNothing(const KernelProfile &kernel) {
  return 2 * kernel.unused_bytes > kernel.bytes.dram;
}

std::string reasonOf(const KernelProfile &kernel, const ModelTime &time, const Shares &shares,
                     KernelClass kind, Limit limit) {
  const ModelOccupancy &o = time.occupancy;
  switch (kind) {
  case KernelClass::launch_overhead:
    return fmt::format("a dispatch has {:.2f} us of work; starting and ending it takes {:.2f} us",
                       time.busy() / 1e3, time.launch_ns / 1e3);
  case KernelClass::under_occupied:
    if (shares.units < valueOf(Decides::units_share))
      return fmt::format("{:.0f} of {:.0f} compute units have a workgroup", o.units,
                         shareOf(o.units, shares.units));
    if (shares.areBusy())
      return fmt::format("the instructions of a wave, one after the other, take longest ({:.0f} % "
                         "of it waiting); a SIMD has {:.3g} of {} waves to switch to "
                         "(limit: {})",
                         100 * shares.waiting, o.resident, o.most, o.limit);
    return fmt::format(
        "waves wait {:.0f} % of their time, and a SIMD has {:.3g} of {} waves to switch "
        "to (limit: {})",
        100 * shares.waiting, o.resident, o.most, o.limit);
  case KernelClass::divergence:
    if (limit == Limit::scalar)
      return fmt::format(
          "the scalar unit takes longest, for branches of waves in which {:.0f} % of "
          "the lanes take part",
          100 * shares.lanes);
    return fmt::format("the {} takes longest, with {:.0f} % of its lanes", nameOf(limit),
                       100 * shares.lanes);
  case KernelClass::compute_throughput:
    return fmt::format("the {} takes longest", limit == Limit::valu     ? "vector ALU"
                                               : limit == Limit::matrix ? "matrix unit"
                                                                        : "scalar unit");
  case KernelClass::lds:
    if (kernel.lds_same_address != 0)
      return fmt::format("LDS takes longest: {} cycles, {} of them for bank conflicts, {} for "
                         "atomic operations on one address",
                         kernel.lds_turns, kernel.lds_conflicts - kernel.lds_same_address,
                         kernel.lds_same_address);
    return fmt::format("LDS takes longest: {} cycles, {} of them for bank conflicts",
                       kernel.lds_turns, kernel.lds_conflicts);
  case KernelClass::memory_bandwidth:
    if (limit == Limit::memory && movesForNothing(kernel))
      return fmt::format("memory takes longest: {} bytes, of which {} are never used",
                         kernel.bytes.dram, kernel.unused_bytes);
    return limit == Limit::memory
               ? fmt::format("memory takes longest: {} bytes", kernel.bytes.dram)
               : fmt::format("{} takes longest: {} bytes", nameOf(limit),
                             limit == Limit::l1 ? kernel.bytes.l1 : kernel.bytes.l2);
  case KernelClass::latency:
    if (limit == Limit::atomics)
      return fmt::format("{} atomic operations on one address come one after the other",
                         kernel.hottest);
    return fmt::format("waves wait {:.0f} % of their time, though a SIMD has {:.3g} of {} of them",
                       100 * shares.waiting, o.resident, o.most);
  case KernelClass::unknown: break;
  }
  return "its instructions were not counted";
}

/// Whether lanes want many more lines than if they were neighbors.
bool isScattered(const KernelProfile &kernel) {
  if (kernel.lines_needed != 0) return kernel.lines_used > 2 * kernel.lines_needed;
  return kernel.bytes.l1 > 2 * kernel.bytes.accessed && kernel.bytes.accessed != 0;
}

/// Whether most of what waves wait for comes from LDS.
bool waitsForLds(const KernelProfile &kernel, const ModelTime &time) {
  double lds = 0, all = 0;
  for (std::size_t i = 0; i < time.instructions.size(); ++i) {
    const InstructionTime &one = time.instructions[i];
    if (!one.waits_for) continue;
    const double cycles = one.waits * static_cast<double>(kernel.instructions[i].executions);
    all += cycles;
    if (kernel.instructions[*one.waits_for].info.unit == codeobj::Unit::Lds) lds += cycles;
  }
  return 2 * lds > all;
}

std::string adviceOf(const KernelProfile &kernel, const ModelTime &time, const Shares &shares,
                     KernelClass kind, Limit limit) {
  const LevelBytes &b = kernel.bytes;
  switch (kind) {
  case KernelClass::launch_overhead:
    return "do more in one launch: fuse kernels that follow each other, or launch them as a graph";
  case KernelClass::under_occupied:
    if (shares.units < valueOf(Decides::units_share))
      return "launch more workgroups: smaller ones, or split the work further";
    if (time.occupancy.limit == "vgprs")
      return "use fewer vector registers: launch bounds, fewer values alive at a time";
    if (time.occupancy.limit == "lds") return "use less LDS per workgroup, or larger workgroups";
    if (time.occupancy.limit == "grid" && shares.areBusy())
      return "launch more waves: each takes one instruction at a time";
    if (time.occupancy.limit == "grid")
      return "launch more waves, or do more loads at a time in each";
    return "choose a workgroup size of which more fit";
  case KernelClass::divergence:
    return "let lanes of a wave take the same branches: sort or regroup the work, or make short "
           "branches selections";
  case KernelClass::compute_throughput:
    if (limit == Limit::matrix)
      return "use a narrower type, or fewer operations: the matrix unit is at its peak rate";
    if (limit == Limit::scalar)
      return "move work out of loops that only counts or branches: unroll";
    if (kernel.flops.f64 > kernel.flops.all() / 2) return "use f32 where its precision suffices";
    if (kernel.flops.all() == 0)
      return "use fewer or cheaper operations: 24-bit multiplications where they suffice, no "
             "divisions, shifts instead of multiplications";
    return "use fewer or cheaper operations: packed forms, matrix instructions, fewer divisions";
  case KernelClass::lds:
    if (kernel.lds_same_address * 2 > kernel.lds_conflicts &&
        kernel.lds_same_address * 4 > kernel.lds_turns)
      return "reduce collisions: add up in registers first, or keep several copies of the array in "
             "LDS "
             "and add them up at the end";
    if (kernel.lds_conflicts * 4 > kernel.lds_turns)
      return "pad or swizzle the arrays in LDS: lanes access the same banks";
    return "keep more in registers, and use wider LDS accesses";
  case KernelClass::memory_bandwidth:
    if (isScattered(kernel))
      return "let neighboring lanes access neighboring addresses: only a part of each "
             "cache line is used";
    if (limit == Limit::memory && movesForNothing(kernel))
      return "keep data that is used together side by side: most bytes of each cache line are "
             "never used";
    if (limit == Limit::memory) return "move fewer bytes: reuse loaded data, or use narrower types";
    return b.l1 > 2 * b.accessed
               ? "use wider loads: each lane loads a small part of a line at a time"
               : "use wider and fewer loads: keep values in registers or LDS";
  case KernelClass::latency:
    if (limit == Limit::atomics)
      return "combine values within the wave or workgroup first, and spread the remaining atomics "
             "over addresses";
    if (waitsForLds(kernel, time))
      return "go through LDS less often: exchange within a wave by lane operations (shuffles), "
             "and do more between barriers";
    return "keep more loads in flight: unroll, prefetch, break chains of dependent "
           "loads";
  case KernelClass::unknown: break;
  }
  return "";
}

} // namespace

const char *nameOf(KernelClass kind) {
  static constexpr std::array<const char *, kClasses> kNames = {
      "memory_bandwidth",   "latency", "under_occupied",  "divergence",
      "compute_throughput", "lds",     "launch_overhead", "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char *textOf(KernelClass kind) {
  static constexpr std::array<const char *, kClasses> kTexts = {
      "memory bandwidth",   "latency", "under-occupied",  "divergence",
      "compute throughput", "LDS",     "launch overhead", "not counted"};
  return kTexts[static_cast<std::size_t>(kind)];
}

std::span<const Threshold> thresholds() { return kThresholds; }
double valueOf(Decides threshold) { return kThresholds[static_cast<std::size_t>(threshold)].value; }

Classification classify(const KernelProfile &kernel, const GpuModel &gpu, const ModelTime &time) {
  Classification result;
  if (!kernel.is_counted) {
    result.reason = reasonOf(kernel, time, {}, result.kind, result.limit);
    return result;
  }
  const ModelOccupancy &o = time.occupancy;
  const Shares shares{shareOf(time.launch_ns, time.total()), shareOf(o.units, gpu.units),
                      shareOf(o.resident, o.most), kernel.laneShare(),
                      shareOf(time.waiting_ns, time.wave_ns)};
  result.limit = time.longest();
  const Limit unit = time.longestUnit();
  result.kind = decide(result.limit, unit, shares);
  const bool is_pace = result.limit == Limit::latency && result.kind != KernelClass::latency &&
                       result.kind != KernelClass::under_occupied &&
                       result.kind != KernelClass::launch_overhead;
  const Limit decides = is_pace ? unit : result.limit;
  result.reason = reasonOf(kernel, time, shares, result.kind, decides);
  if (is_pace) result.reason += "; a wave by itself takes longer still";
  result.advice = adviceOf(kernel, time, shares, result.kind, decides);
  findNext(time, unit, shares, result);
  result.evidence = {
      {"launch_share", shares.launch, "share"}, {"units_share", shares.units, "share"},
      {"waves_share", shares.waves, "share"},   {"lane_share", shares.lanes, "share"},
      {"wait_share", shares.waiting, "share"},  {"launch", time.launch_ns, "ns"}};
  for (std::size_t i = 0; i < kLimits; ++i)
    result.evidence.push_back({nameOf(static_cast<Limit>(i)), time.ns[i], "ns"});
  return result;
}

} // namespace fade::profile
