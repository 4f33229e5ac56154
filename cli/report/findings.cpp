#include "report/findings.h"

#include "report/kernel_cost.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace fade::report {
namespace {

/// Less than this share of a kernel is nothing to gain.
constexpr double kLeastGain = 0.02;
/// A unit that is so busy without being the busiest may still be in the way, for units do not work
/// side by side as well as the model has it. What is only that must be worth more. How long loads
/// are waited for is the roughest estimate of all, and hides less.
constexpr double kNearlyBusiest = 0.5, kNearWaiting = 0.25, kLeastInTheWay = 0.1;
/// A launch is too small if it leaves so many units without work for each that has some, although
/// each wave does so many accesses that others could share.
constexpr double kIdleUnits = 7, kLongWave = 64;
/// Lanes without work that are worth a word, as a share of all.
constexpr double kIdleLanes = 0.1, kIdleBesideOne = 0.25;

/// A finding, and what mending it would take off each unit.
struct Candidate {
  Finding finding;
  UnitCycles saved;
  double spared = 0; ///< share of what units still have to do when the others are mended
};

std::string mean(uint64_t sum, uint64_t n) {
  if (n == 0) return "0";
  return sum % n == 0 ? std::to_string(sum / n)
                      : fmt::format("{:.1f}", static_cast<double>(sum) / static_cast<double>(n));
}

/// The stride of most executions; nothing if there is none.
std::optional<int64_t> strideOf(const Access &access) {
  std::optional<int64_t> best;
  uint64_t most = access.executions / 2;
  for (const auto &[stride, executions] : access.strides)
    if (executions > most) {
      most = executions;
      best = stride;
    }
  return best;
}

/// What was counted of an access.
std::string countsOf(const Access &access) {
  if (access.is_lds)
    return fmt::format("{} extra LDS turn{} per execution",
                       mean(access.conflicts, access.executions),
                       access.conflicts == access.executions ? "" : "s");
  if (access.wasted == 0 && access.cache.useless() != 0)
    return fmt::format("{} of {} bytes that it moves are used by nobody", access.cache.useless(),
                       access.cache.moved());
  return fmt::format("{} cache lines per execution where {} would do",
                     mean(access.used, access.executions),
                     mean(access.used - std::min(access.wasted, access.used), access.executions));
}

/// Places that are the same for a reader are one, and the most expensive come first.
void tidy(std::vector<FindingPlace> &places) {
  const auto key = [](const FindingPlace &p) { return std::tie(p.file, p.line, p.column, p.op); };
  std::ranges::sort(places, {}, key);
  std::vector<FindingPlace> out;
  for (const FindingPlace &place : places)
    if (!out.empty() && key(out.back()) == key(place))
      out.back().cycles += place.cycles;
    else
      out.push_back(place);
  std::ranges::sort(out, [&](const FindingPlace &a, const FindingPlace &b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : key(a) < key(b);
  });
  places = std::move(out);
}

/// What limits occupancy, as people write it.
std::string wordFor(const std::string &limit) {
  return limit == "vgprs"       ? "VGPRs"
         : limit == "sgprs"     ? "SGPRs"
         : limit == "lds"       ? "LDS"
         : limit == "workgroup" ? "the size of workgroups"
                                : limit;
}

/// The registers that limit it, or might.
std::string registersOf(const KernelCode &facts) {
  if (facts.limit == "sgprs") return fmt::format("{} SGPRs", facts.sgprs);
  return fmt::format("{} VGPRs{}", facts.vgprs,
                     facts.agprs == 0 ? "" : fmt::format(", {} AGPRs among them", facts.agprs));
}

/// An order for what is worth the same.
bool isBefore(const Finding &a, const Finding &b) {
  const auto key = [](const Finding &f) {
    const FindingPlace first = f.places.empty() ? FindingPlace{} : f.places.front();
    return std::tuple(f.kernel, f.cause, first.file, first.line, first.column);
  };
  return key(a) < key(b);
}

class Finder {
public:
  explicit Finder(const RunLog &log) : log_(log), work_(workOf(log)) {}
  Findings run();

private:
  using Key = std::tuple<uint32_t, Finding::Cause, std::optional<int64_t>>;

  void findSteps();
  bool isReadWhole(const Access &access) const;
  void access(const Access &access);
  void scattered(const Access &access);
  void idle(const Access &access);
  void conflicts(const Access &access);
  void atomics(const Access &access);
  void divergence(uint32_t kernel);
  void filling(uint32_t kernel);
  void waiting(uint32_t kernel);
  void spills(uint32_t kernel);
  void launch(uint32_t kernel);
  Candidate &candidate(const Key &key) {
    Candidate &one = candidates_[key];
    one.finding.kernel = std::get<0>(key);
    one.finding.cause = std::get<1>(key);
    return one;
  }
  /// Adds a place to the finding for all accesses of that kind.
  Candidate &placed(const Access &access, Finding::Cause cause, double cycles);
  void rank(uint32_t kernel, std::vector<Candidate *> &of_kernel, Findings &out) const;

  const RunLog &log_;
  std::vector<KernelWork> work_;
  std::map<Key, Candidate> candidates_;
  /// Accesses of a kernel whose lanes are equally far apart: bytes of a lane, and of memory.
  struct Steps {
    uint64_t bytes = 0, moved = 0, useless = 0;
  };
  std::map<std::tuple<uint32_t, std::string, int64_t>, Steps> steps_;
  /// What accesses cost for lanes that do not take part.
  struct Idle {
    double vector_memory = 0, missed_loads = 0;
    uint64_t lanes = 0, slots = 0; ///< of those accesses
  };
  std::map<uint32_t, Idle> idle_;
  /// Kernels in which one lane does what all would have done, because the compiler has it so.
  std::set<uint32_t> combined_;
};

Candidate &Finder::placed(const Access &access, Finding::Cause cause, double cycles) {
  Candidate &one = candidate({access.kernel, cause, strideOf(access)});
  Finding &finding = one.finding;
  // The advice and the counts are those of the most expensive place.
  const bool is_worst = std::ranges::none_of(
      finding.places, [&](const FindingPlace &place) { return place.cycles >= cycles; });
  finding.places.push_back({access.file, access.line, access.column, access.op, cycles});
  if (is_worst) {
    finding.advice = access.advice;
    finding.counts = countsOf(access);
  }
  return one;
}

void Finder::findSteps() {
  for (const Access &access : log_.accesses) {
    if (access.machine == "combined") combined_.insert(access.kernel);
    if (const auto stride = strideOf(access); stride && !access.is_lds) {
      Steps &steps = steps_[{access.kernel, access.op, *stride}];
      // A few steps may have one place. More are a loop, which is something else.
      constexpr uint64_t kFew = 4;
      const uint64_t waves = log_.kernels[access.kernel].waves;
      const uint64_t times = waves != 0 && access.cache.is_known ? access.executions / waves : 1;
      steps.bytes += access.bytes * std::clamp<uint64_t>(times, 1, kFew);
      steps.moved += access.cache.moved();
      steps.useless += access.cache.useless();
    }
  }
}

/// Whether lanes have structs of their own, side by side, that are read or written whole in several
/// steps. L1 has their lines after the first one, and each step takes its bytes of them.
bool Finder::isReadWhole(const Access &access) const {
  constexpr uint64_t kLargest = 64, kWidest = 16; // bytes: of a struct, and of an instruction
  const auto stride = strideOf(access);
  if (!stride || *stride == 0) return false;
  const auto apart = static_cast<uint64_t>(*stride < 0 ? -*stride : *stride);
  const bool has_steps = apart > access.bytes || access.bytes > kWidest;
  const Steps &all = steps_.at({access.kernel, access.op, *stride});
  return apart <= kLargest && has_steps && all.bytes * 4 >= apart * 3 &&
         all.useless * 10 <= all.moved;
}

/// Whether lanes lie side by side, in rows or not, and only do not begin with a line, as those of
/// stencils cannot all do.
bool isSideBySide(const Access &access) {
  const auto stride = strideOf(access);
  if (!stride || *stride == 0) return false;
  const auto apart = static_cast<uint64_t>(*stride < 0 ? -*stride : *stride);
  return apart <= access.bytes && access.wasted * 2 <= access.used;
}

void Finder::scattered(const Access &access) {
  const KernelWork &work = work_[access.kernel];
  if (access.machine == "scalar") return;
  const LinesOfL1 lines = linesOfL1(access, log_.kernels[access.kernel], work.rates);
  const auto cyclesOf = [&](uint64_t wanted) {
    return work.perUnit(work.rates.vectorMemoryCycles(access.executions, work.wave_size, wanted));
  };
  const bool is_fine = access.wasted == 0 || isReadWhole(access) || isSideBySide(access);
  const double pipe = is_fine ? 0 : cyclesOf(lines.wanted) - cyclesOf(lines.needed);
  const LinesOfL2 asked = linesOfL2(access);
  const double l2 = is_fine ? 0 : (asked.wanted - asked.needed) / work.rates.l2_lines_per_cycle;
  const uint64_t useless = access.cache.useless();
  const double memory = work.memoryCycles(useless);
  if (pipe <= 0 && memory <= 0 && l2 <= 0) return;
  Candidate &one = placed(access, Finding::Cause::scattered, std::max({pipe, memory, l2}));
  one.saved[CostUnit::vector_memory] += pipe;
  one.saved[CostUnit::l2] += l2;
  one.saved[CostUnit::memory] += memory;
  one.finding.bytes += useless;
  if (one.finding.advice.empty())
    one.finding.advice = "Cache lines are moved for a part of their bytes: keep together what is "
                         "used together, and begin at a multiple of a line.";
}

void Finder::conflicts(const Access &access) {
  if (access.conflicts == 0) return;
  const double cycles = work_[access.kernel].perUnit(static_cast<double>(access.conflicts));
  placed(access, Finding::Cause::conflicts, cycles).saved[CostUnit::lds] += cycles;
}

void Finder::atomics(const Access &access) {
  const KernelWork &work = work_[access.kernel];
  if (access.same_address * 2 > access.lanes) {
    // In LDS they take turns; in L2 all lanes of all waves come one after the other.
    const double share =
        static_cast<double>(access.same_address) / static_cast<double>(access.lanes);
    const double cycles = access.is_lds ? work.perUnit(static_cast<double>(access.same_address))
                                        : share * static_cast<double>(access.hottest);
    Candidate &one = placed(access, Finding::Cause::same_address, cycles);
    one.saved[access.is_lds ? CostUnit::lds : CostUnit::atomics] += cycles;
    one.finding.counts = fmt::format("{} of {} lanes find another one at their address",
                                     access.same_address, access.lanes);
    return;
  }
  // One operation for a wave is what the compiler makes of it where it can.
  if (access.machine == "combined") return;
  if (access.is_lds || access.executions < 2) return;
  const double groups = std::max(static_cast<double>(work.waves) / 4, 1.0);
  const double cycles = std::max(static_cast<double>(access.hottest) - groups, 0.0);
  Candidate &one = placed(access, Finding::Cause::hot_address, cycles);
  one.saved[CostUnit::atomics] += cycles;
  one.finding.counts =
      fmt::format("{} operations on one address, one after the other", access.hottest);
  // What there is to say of the access may be about its cache lines.
  one.finding.advice = "Collect in LDS and let each workgroup do one atomic for each address.";
}

void Finder::access(const Access &access) {
  if (access.executions == 0) return;
  if (access.op == "atomic") atomics(access);
  if (access.is_lds)
    conflicts(access);
  else {
    scattered(access);
    idle(access);
  }
}

/// Accesses for which most of the wave stands by: as many would do for more lanes.
void Finder::idle(const Access &access) {
  if (access.machine == "scalar" || access.machine == "combined") return;
  const KernelWork &work = work_[access.kernel];
  const auto lanes = static_cast<double>(access.lanes);
  const double slots = static_cast<double>(access.slots) * work.present;
  if (slots == 0 || lanes * 2 >= slots) return;
  const double share = 1 - lanes / slots;
  Idle &all = idle_[access.kernel];
  all.vector_memory +=
      share * work.perUnit(work.rates.vectorMemoryCycles(access.executions, work.wave_size, 0));
  all.lanes += access.lanes;
  all.slots += access.slots;
  if (access.op == "load")
    all.missed_loads += share * missedShare(access) * static_cast<double>(access.executions);
}

/// Lanes that stand by while others of their wave work.
void Finder::divergence(uint32_t kernel) {
  const KernelWork &work = work_[kernel];
  const double cycles = work.cost.cycles[CostUnit::vector_alu];
  if (cycles == 0) return;
  // Lanes that a workgroup does not have are another matter.
  const double idle = 1 - std::min((1 - work.idle_lanes) / work.present, 1.0);
  std::vector<FindingPlace> places;
  if (const auto flow = log_.flows.find(kernel); flow != log_.flows.end())
    for (const auto &[id, block] : flow->second.blocks) {
      const uint64_t slots = block.executions * flow->second.wave_size;
      if (slots == 0 || block.lanes * 10 > slots * 9 || block.line == 0) continue;
      places.push_back(
          {block.file, block.line, 0, "",
           static_cast<double>(slots - block.lanes) / static_cast<double>(flow->second.wave_size)});
    }
  // One lane that does the last bit, as at the end of a reduction, leaves little to the others.
  const bool is_serial = work.by_one_lane * 2 > idle;
  const Idle &accesses = idle_[kernel];
  // Or there is little besides accesses.
  const bool is_in_accesses =
      accesses.vector_memory * 4 > work.cost.cycles[CostUnit::vector_memory] * 3;
  const bool is_in_alu = idle >= (is_serial ? kIdleBesideOne : kIdleLanes);
  if (!is_in_alu && !is_in_accesses) return;
  Candidate &one = candidate({kernel, Finding::Cause::divergence, {}});
  one.saved[CostUnit::vector_alu] = cycles * work.present * idle;
  one.saved[CostUnit::vector_memory] = accesses.vector_memory;
  if (work.missed_loads != 0)
    one.saved[CostUnit::latency] = work.cost.cycles[CostUnit::latency] * accesses.missed_loads /
                                   static_cast<double>(work.missed_loads);
  one.finding.places = std::move(places);
  one.finding.counts =
      is_in_alu ? fmt::format("{}{:.0f}% of the lanes of the vector ALU are active",
                              work.alu_is_counted ? "" : "about ", 100 * (1 - idle))
                : fmt::format("{:.0f}% of the lanes take part in most accesses to global memory",
                              100.0 * static_cast<double>(accesses.lanes) /
                                  static_cast<double>(accesses.slots));
  const bool is_alone = is_in_alu ? is_serial : accesses.lanes * work.wave_size <= accesses.slots;
  one.finding.advice =
      is_alone ? "One lane works while the others of its wave wait: share what it does among all "
                 "of them, or let one wave do it for all."
               : "Let the lanes of a wave take the same way: branch on what is the same for a "
                 "whole wave, or sort the work so that lanes with the same way are neighbours.";
}

/// Workgroups that are no multiple of a wave: all but the last of its waves could be full.
void Finder::filling(uint32_t kernel) {
  KernelWork &work = work_[kernel];
  const double empty = 1 - work.filled;
  if (empty < kIdleLanes) return;
  const UnitCycles &now = work.cost.cycles;
  Candidate &one = candidate({kernel, Finding::Cause::filling, {}});
  one.saved[CostUnit::vector_alu] = now[CostUnit::vector_alu] * empty;
  // Fewer waves wait for the same loads; where there is room for more, they waited side by side.
  const double room = work.rates.waves_per_unit;
  const double waves = work.wavesForEachUnit();
  one.saved[CostUnit::latency] =
      now[CostUnit::latency] *
      (1 - work.filled * std::min(waves, room) / std::min(waves * work.filled, room));
  one.finding.counts = fmt::format("workgroups have lanes for {:.0f}% of the {}-lane waves that "
                                   "they take",
                                   100 * work.filled, work.wave_size);
  one.finding.advice =
      fmt::format("Choose workgroups of a multiple of {} lanes, and let each do more if it must.",
                  work.wave_size);
}

/// Too few waves to hide how long loads take, or one wave that all others wait for.
void Finder::waiting(uint32_t kernel) {
  KernelWork &work = work_[kernel];
  if (work.missed_loads == 0) return;
  const Kernel &of = log_.kernels[kernel];
  const double available = work.wavesForEachUnit();
  double resident = std::min<double>(available, work.rates.waves_per_unit);
  if (const auto code = log_.code.find(kernel);
      code != log_.code.end() && code->second.waves_per_unit != 0) {
    const KernelCode &facts = code->second;
    const auto most = static_cast<double>(facts.most_waves * work.rates.simds);
    const double now = std::min(available, facts.waves_per_unit);
    const double could = std::min(available, most);
    resident = now;
    if (could > now && facts.limit != "waves") {
      Candidate &one = candidate({kernel, Finding::Cause::occupancy, {}});
      one.saved[CostUnit::latency] = work.waitWith(now) - work.waitWith(could);
      one.finding.counts = fmt::format(
          "{} of {} waves fit on a compute unit, limited by {} ({}, {} bytes of LDS)",
          facts.waves_per_unit, most, wordFor(facts.limit), registersOf(facts), facts.lds);
      one.finding.advice =
          facts.limit == "lds" ? "Use less LDS in a workgroup, or larger workgroups that share it."
          : facts.limit == "workgroup"
              ? "Choose a workgroup size that fills the SIMDs."
              : "Use fewer registers: smaller tiles, less unrolling, or a second number in "
                "__launch_bounds__, which asks for more waves.";
    }
  }
  double &wait = work.cost.cycles[CostUnit::latency];
  wait = work.waitWith(resident);
  if (of.waves == 0 || of.longest_waves == 0) return;
  const double average = static_cast<double>(of.wave_executions) / static_cast<double>(of.waves);
  const double longest = static_cast<double>(of.longest_waves) /
                         static_cast<double>(std::max<uint64_t>(work.dispatches, 1));
  const double tail = work.rates.waitingCycles(static_cast<double>(of.longest_waves));
  if (longest < 2 * average || tail <= wait) return;
  Candidate &one = candidate({kernel, Finding::Cause::uneven, {}});
  one.saved[CostUnit::latency] =
      tail -
      std::max(wait, work.rates.waitingCycles(average * static_cast<double>(work.dispatches)));
  wait = tail;
  one.finding.counts =
      fmt::format("the busiest wave makes {:.0f} accesses, the average {:.1f}", longest, average);
  one.finding.advice = "Share the work out more evenly: split long items among several lanes or "
                       "waves, or let waves fetch the next item when they are done.";
}

void Finder::spills(uint32_t kernel) {
  const auto code = log_.code.find(kernel);
  if (code == log_.code.end() || code->second.scratch == 0) return;
  KernelWork &work = work_[kernel];
  const KernelCode &facts = code->second;
  // Not known: each lane stores and loads it once.
  const double lane_bytes = static_cast<double>(work.wave_size * facts.scratch);
  const double bytes =
      work.scratch_bytes.value_or(static_cast<double>(work.waves) * lane_bytes * 2);
  if (bytes == 0) return;
  // What waves that run at a time use is moved to memory and back, as far as caches cannot hold it.
  const double resident =
      std::min(work.wavesForEachUnit(),
               facts.waves_per_unit == 0 ? work.rates.waves_per_unit : facts.waves_per_unit);
  const double beyond =
      std::max(1 - work.rates.cache_bytes / (work.units * resident * lane_bytes), 0.0);
  const auto moved = static_cast<uint64_t>(bytes * beyond);
  Candidate &one = candidate({kernel, Finding::Cause::spills, {}});
  one.saved[CostUnit::vector_memory] = work.perUnit(bytes / work.rates.l1_line);
  one.saved[CostUnit::memory] = work.memoryCycles(moved);
  for (const CostUnit unit : {CostUnit::vector_memory, CostUnit::memory})
    work.cost.cycles[unit] += one.saved[unit];
  work.cost.bytes += moved;
  one.finding.bytes = moved;
  const char *how = work.alu_is_counted  ? ""
                    : work.scratch_bytes ? "about "
                                         : "if each lane uses it once, ";
  one.finding.counts =
      fmt::format("{} bytes of scratch per lane, {} spilled registers, {}{:.0f} bytes moved",
                  facts.scratch, facts.spilled, how, bytes);
  one.finding.advice =
      facts.spilled != 0
          ? "Use fewer registers at a time (smaller tiles, less unrolling), or promise smaller "
            "workgroups in __launch_bounds__, which leaves more registers to each lane."
          : "An array is indexed by what is known only at run time, so it is in memory: unroll the "
            "loop around it, or put it into LDS.";
}

/// Too few workgroups for the GPU, though each has much to do.
void Finder::launch(uint32_t kernel) {
  const KernelWork &work = work_[kernel];
  const Kernel &of = log_.kernels[kernel];
  // One wave that all wait for would still be one.
  if (of.waves == 0 || work.dispatches == 0 ||
      candidates_.contains({kernel, Finding::Cause::uneven, {}}))
    return;
  const double each = work.instructions / static_cast<double>(of.waves);
  const double all = work.rates.units;
  if (each < kLongWave || work.units * (1 + kIdleUnits) > all) return;
  Candidate &one = candidate({kernel, Finding::Cause::launch, {}});
  one.spared = 1 - std::max(work.units / all, 1 / each);
  one.finding.counts = fmt::format(
      "workgroups for {:.0f} of {:.0f} compute units, whose waves make {:.0f} accesses each",
      work.units, all, each);
  one.finding.advice = "Launch more workgroups and let each do less: they are what the compute "
                       "units share.";
}

/// The most expensive first, and each by what it adds to those before it.
void Finder::rank(uint32_t kernel, std::vector<Candidate *> &of_kernel, Findings &out) const {
  UnitCycles now = work_[kernel].cost.cycles;
  const double all = now.most();
  if (all <= 0) return;
  std::ranges::sort(of_kernel, [](const Candidate *a, const Candidate *b) {
    // What makes the rest shorter comes when there is only the rest.
    if (a->spared != b->spared) return a->spared < b->spared;
    const double x = a->saved.most(), y = b->saved.most();
    return x != y ? x > y : isBefore(a->finding, b->finding);
  });
  for (Candidate *one : of_kernel) {
    Finding &finding = one->finding;
    if (one->spared != 0)
      for (const CostUnit unit :
           {CostUnit::vector_memory, CostUnit::lds, CostUnit::vector_alu, CostUnit::latency})
        one->saved[unit] = now[unit] * one->spared;
    // The unit that matters most, of those it keeps busy.
    double most = -1;
    for (std::size_t u = 0; u < one->saved.cycles.size(); ++u) {
      const double saved = one->saved.cycles[u];
      const double weight = saved == 0 ? -1 : saved * now.cycles[u];
      if (weight > most) {
        most = weight;
        finding.unit = static_cast<CostUnit>(u);
      }
    }
    finding.cycles = one->saved[finding.unit];
    const double before = now.most(), was_busy = now[finding.unit];
    // Registers that are spilled also cost instructions and waiting, which are not known.
    const bool is_rough =
        now.busiest() == CostUnit::latency || finding.cause == Finding::Cause::spills;
    const double near = is_rough ? kNearWaiting : kNearlyBusiest;
    for (std::size_t u = 0; u < now.cycles.size(); ++u)
      now.cycles[u] = std::max(now.cycles[u] - one->saved.cycles[u], 0.0);
    finding.gain = (before - now.most()) / all;
    const bool is_in_the_way =
        finding.cycles >= kLeastInTheWay * all && was_busy >= near * before &&
        !(finding.cause == Finding::Cause::divergence && combined_.contains(kernel));
    if (finding.gain < kLeastGain && !is_in_the_way) continue;
    tidy(finding.places);
    out.list.push_back(finding);
  }
}

Findings Finder::run() {
  findSteps();
  for (const Access &one : log_.accesses) access(one);
  std::map<uint32_t, std::vector<Candidate *>> by_kernel;
  for (uint32_t k = 0; k < work_.size(); ++k) {
    waiting(k);
    divergence(k);
    filling(k);
    spills(k);
    launch(k);
  }
  for (auto &[key, one] : candidates_) by_kernel[one.finding.kernel].push_back(&one);
  Findings out;
  for (auto &[kernel, of_kernel] : by_kernel) rank(kernel, of_kernel, out);
  for (const KernelWork &work : work_) out.kernels.push_back(work.cost);
  const auto reward = [&](const Finding &f) {
    return std::tuple(f.gain * out.kernels[f.kernel].cycles.most(), f.cycles);
  };
  std::ranges::sort(out.list, [&](const Finding &a, const Finding &b) {
    const auto x = reward(a), y = reward(b);
    return x != y ? x > y : isBefore(a, b);
  });
  return out;
}

} // namespace

std::span<const char *const> causeNames() {
  static constexpr std::array<const char *, 10> kNames = {"scattered access",
                                                          "bank conflicts",
                                                          "atomics on one address in a wave",
                                                          "atomics of all waves on one address",
                                                          "divergence",
                                                          "low occupancy",
                                                          "uneven waves",
                                                          "scratch memory",
                                                          "too few workgroups",
                                                          "partly filled waves"};
  return kNames;
}

const char *nameOf(Finding::Cause cause) { return causeNames()[static_cast<std::size_t>(cause)]; }

Findings findingsOf(const RunLog &log) { return Finder(log).run(); }

} // namespace fade::report
