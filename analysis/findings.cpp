#include "analysis/findings.h"

#include "analysis/changes.h"
#include "analysis/ranking.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace fade::report {
namespace {

using profile::KernelProfile;
using profile::Limit;
using profile::ModeledKernel;

/// Lanes without work that are worth a word, as a share of all.
constexpr double kIdleLanes = 0.1, kIdleBesideOne = 0.25;

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
    return fmt::format("{} bank conflict{} per execution",
                       mean(access.conflicts, access.executions),
                       access.conflicts == access.executions ? "" : "s");
  if (access.wasted == 0 && access.cache.useless() != 0)
    return fmt::format("{} of {} bytes moved are never used", access.cache.useless(),
                       access.cache.moved());
  return fmt::format("{} cache lines per execution where {} would do",
                     mean(access.used, access.executions),
                     mean(access.used - std::min(access.wasted, access.used), access.executions));
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
std::string registersOf(const KernelProfile &kernel) {
  if (!kernel.registers) return "registers not known";
  const profile::KernelRegisters &r = *kernel.registers;
  return r.agprs == 0 ? fmt::format("{} VGPRs", r.vgprs)
                      : fmt::format("{} VGPRs, {} AGPRs among them", r.vgprs + r.agprs, r.agprs);
}

class Finder {
public:
  Finder(const RunLog &log, const std::vector<ModeledKernel> &kernels)
      : log_(log), kernels_(kernels), idle_(kernels.size()) {}
  Findings run();

private:
  using Key = std::tuple<uint32_t, Finding::Cause, std::optional<int64_t>>;

  void findSteps();
  bool isReadWhole(const Access &access) const;
  void access(const Access &access, std::size_t index);
  void scattered(const Access &access, std::size_t index);
  void conflicts(const Access &access, std::size_t index);
  void atomics(const Access &access, std::size_t index);
  void idle(const Access &access);
  void divergence(uint32_t kernel);
  void filling(uint32_t kernel);
  void occupancy(uint32_t kernel);
  void uneven(uint32_t kernel);
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
  /// Cycles of each compute unit that has something to do.
  double perUnit(uint32_t kernel, double cycles) const {
    return cycles / std::max(kernels_[kernel].time.occupancy.units, 1.0);
  }

  const RunLog &log_;
  const std::vector<ModeledKernel> &kernels_;
  std::map<Key, Candidate> candidates_;
  /// Accesses of a kernel whose lanes are equally far apart: bytes of a lane, and of memory.
  struct Steps {
    uint64_t bytes = 0, moved = 0, useless = 0;
  };
  std::map<std::tuple<uint32_t, std::string, int64_t>, Steps> steps_;
  /// Accesses in which less than half of the lanes take part, and all of them.
  struct Idle {
    uint64_t executions = 0, all = 0, lanes = 0, slots = 0;
  };
  std::vector<Idle> idle_;
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

void Finder::scattered(const Access &access, std::size_t index) {
  if (access.machine == "scalar") return;
  const ModeledKernel &kernel = kernels_[access.kernel];
  const bool is_fine = access.wasted == 0 || isReadWhole(access) || isSideBySide(access);
  const profile::LinesOfL1 lines =
      profile::linesOfL1(access, kernel.counts.line_size, kernel.gpu.l1_line);
  const uint64_t useless = access.cache.useless();
  const bool has_lines = !is_fine && (lines.wanted > lines.needed || access.wasted != 0);
  if (!has_lines && useless == 0) return;
  const double pipe =
      has_lines ? perUnit(access.kernel, static_cast<double>(lines.wanted - lines.needed)) : 0;
  const double l2 = has_lines && access.cache.is_known
                        ? static_cast<double>(access.wasted) / kernel.gpu.l2_lines_per_cycle
                        : 0;
  const double memory =
      static_cast<double>(useless) / kernel.gpu.memory_bytes_per_s * kernel.gpu.clock_hz;
  Candidate &one = placed(access, Finding::Cause::scattered, std::max({pipe, memory, l2}));
  one.changes.push_back([index, has_lines](KernelProfile &changed) {
    profile::coalesce(changed.accesses[index], changed, has_lines);
  });
  one.finding.bytes += useless;
  if (one.finding.advice.empty())
    one.finding.advice = "Only a part of each cache line is used: keep data that is used together "
                         "side by side, and align it to cache lines.";
}

void Finder::conflicts(const Access &access, std::size_t index) {
  if (access.conflicts == 0) return;
  placed(access, Finding::Cause::conflicts,
         perUnit(access.kernel, static_cast<double>(access.conflicts)))
      .changes.push_back(
          [index](KernelProfile &changed) { changed.accesses[index].conflicts = 0; });
}

void Finder::atomics(const Access &access, std::size_t index) {
  const uint64_t met = access.same_turns.value_or(access.same_address);
  const bool has_met =
      access.is_lds ? met > access.executions : access.same_address * 2 > access.lanes;
  if (has_met) {
    // In LDS they take turns; in L2 all lanes of all waves come one after the other.
    const double share =
        static_cast<double>(access.same_address) / static_cast<double>(access.lanes);
    const double cycles = access.is_lds ? perUnit(access.kernel, static_cast<double>(met))
                                        : share * static_cast<double>(access.hottest);
    Candidate &one = placed(access, Finding::Cause::same_address, cycles);
    one.changes.push_back([index, share](KernelProfile &changed) {
      Access &changed_access = changed.accesses[index];
      changed_access.same_turns = 0;
      changed_access.same_address = 0;
      changed_access.hottest -=
          static_cast<uint64_t>(share * static_cast<double>(changed_access.hottest));
    });
    one.finding.counts = fmt::format(
        "{} of {} lanes share their address with another lane{}", access.same_address, access.lanes,
        access.is_lds
            ? fmt::format(", which takes {} cycles per execution", mean(met, access.executions))
            : "");
    if (one.finding.advice.empty())
      one.finding.advice = "Reduce collisions: add up in registers first.";
    // Values that are combined within a wave go through LDS as often: that saves nothing there.
    if (access.is_lds && one.finding.advice.find("several copies") == std::string::npos)
      one.finding.advice +=
          " Or keep several copies of the array in LDS and add them up at the end.";
    return;
  }
  // One operation for a wave is what the compiler makes of it where it can.
  if (access.machine == "combined") return;
  if (access.is_lds || access.executions < 2) return;
  const ModeledKernel &kernel = kernels_[access.kernel];
  const uint64_t groups = std::max<uint64_t>(kernel.counts.workgroups, 1);
  if (access.hottest <= groups) return;
  Candidate &one =
      placed(access, Finding::Cause::hot_address, static_cast<double>(access.hottest - groups));
  one.changes.push_back([index](KernelProfile &changed) { profile::collectInLds(changed, index); });
  one.finding.counts =
      fmt::format("{} operations on one address, one after the other", access.hottest);
  // What there is to say of the access may be about its cache lines.
  one.finding.advice = "Collect in LDS and let each workgroup do one atomic for each address.";
}

void Finder::access(const Access &access, std::size_t index) {
  if (access.executions == 0) return;
  if (access.op == "atomic") atomics(access, index);
  if (access.is_lds)
    conflicts(access, index);
  else {
    scattered(access, index);
    idle(access);
  }
}

/// Accesses for which most of the wave stands by: as many would do for more lanes.
void Finder::idle(const Access &access) {
  Idle &all = idle_[access.kernel];
  if (access.machine == "scalar" || access.machine == "combined") return;
  all.all += access.executions;
  const double slots =
      static_cast<double>(access.slots) * kernels_[access.kernel].counts.presentShare();
  if (slots == 0 || static_cast<double>(access.lanes) * 2 >= slots) return;
  all.executions += access.executions;
  all.lanes += access.lanes;
  all.slots += access.slots;
}

/// Lanes that stand by while others of their wave work.
void Finder::divergence(uint32_t kernel) {
  const KernelProfile &counts = kernels_[kernel].counts;
  // Lanes that a workgroup does not have are another matter.
  const double idle = 1 - std::min(counts.laneShare() / counts.presentShare(), 1.0);
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
  const bool is_serial = counts.by_one_lane * 2 > idle;
  const Idle &accesses = idle_[kernel];
  // Or there is little besides accesses.
  const bool is_in_accesses = accesses.executions * 4 > accesses.all * 3;
  const bool is_in_alu = idle >= (is_serial ? kIdleBesideOne : kIdleLanes);
  if (!is_in_alu && !is_in_accesses) return;
  // Lanes that wait while one does what the compiler has combined are as it has to be.
  constexpr double kMostIdle = 0.5;
  if (combined_.contains(kernel) && idle < kMostIdle) return;
  Candidate &one = candidate({kernel, Finding::Cause::divergence, {}});
  one.changes.push_back(
      [&gpu = kernels_[kernel].gpu](KernelProfile &changed) { profile::fillLanes(changed, gpu); });
  one.finding.places = std::move(places);
  one.finding.counts =
      is_in_alu
          ? fmt::format("{}{:.0f}% of the lanes of the vector ALU are active",
                        counts.is_counted && counts.doubt.empty() ? "" : "about ", 100 * (1 - idle))
          : fmt::format("{:.0f}% of the lanes take part in most accesses to global memory",
                        100.0 * static_cast<double>(accesses.lanes) /
                            static_cast<double>(accesses.slots));
  const bool is_alone = is_in_alu ? is_serial : accesses.lanes * counts.wave_size <= accesses.slots;
  one.finding.advice =
      is_alone
          ? "One lane works while the others of its wave wait: share what it does among all "
            "of them, or let one wave do it for all."
          : "Let the lanes of a wave take the same branch: branch on values that are the same "
            "for the whole wave, or sort the work so that neighboring lanes take the same one.";
}

/// Workgroups that are no multiple of a wave: all but the last of its waves could be full.
void Finder::filling(uint32_t kernel) {
  const KernelProfile &counts = kernels_[kernel].counts;
  const uint64_t full = (counts.items + counts.wave_size - 1) / counts.wave_size;
  if (counts.waves == 0 || counts.items == 0) return;
  const double filled = static_cast<double>(full) / static_cast<double>(counts.waves);
  if (1 - filled < kIdleLanes) return;
  Candidate &one = candidate({kernel, Finding::Cause::filling, {}});
  one.changes.push_back(profile::fillWaves);
  one.finding.counts = fmt::format("workgroups fill {:.0f}% of the lanes of their {}-lane waves",
                                   100 * filled, counts.wave_size);
  one.finding.advice = fmt::format("Choose a workgroup size that is a multiple of {} lanes, with "
                                   "more work per workgroup if needed.",
                                   counts.wave_size);
}

/// Too few waves at a time to hide how long loads take.
void Finder::occupancy(uint32_t kernel) {
  const ModeledKernel &now = kernels_[kernel];
  const auto room = profile::moreRoom(now);
  if (!room) return;
  const profile::ModelOccupancy &o = now.time.occupancy;
  Candidate &one = candidate({kernel, Finding::Cause::occupancy, {}});
  one.changes.push_back([room = *room](KernelProfile &changed) { profile::give(room, changed); });
  one.finding.counts = fmt::format(
      "{:.3g} of {} waves fit on a SIMD, limited by {} ({}, {} bytes of LDS)", o.possible, o.most,
      wordFor(o.limit), registersOf(now.counts), now.counts.lds_bytes);
  one.finding.advice =
      o.limit == "lds"
          ? fmt::format("Use less LDS in a workgroup, or larger workgroups that share it: with {} "
                        "bytes, {:.3g} waves fit.",
                        room->lds, room->waves)
          : fmt::format(
                "Use fewer registers: smaller tiles, less unrolling, or a second argument of "
                "__launch_bounds__, which requests more waves: with {} VGPRs, {:.3g} fit.",
                room->vgprs, room->waves);
}

/// One wave that all others wait for.
void Finder::uneven(uint32_t kernel) {
  const KernelProfile &counts = kernels_[kernel].counts;
  if (counts.longest_wave <= 1) return;
  const Kernel &of = log_.kernels[kernel];
  Candidate &one = candidate({kernel, Finding::Cause::uneven, {}});
  one.changes.push_back([](KernelProfile &changed) { changed.longest_wave = 1; });
  one.finding.counts =
      fmt::format("the busiest wave makes {:.0f} accesses, the average {:.1f}",
                  counts.perDispatch(of.longest_waves),
                  static_cast<double>(of.wave_executions) / static_cast<double>(of.waves));
  one.finding.advice = "Share the work out more evenly: split long items among several lanes or "
                       "waves, or let waves fetch the next item when they are done.";
}

void Finder::spills(uint32_t kernel) {
  const KernelProfile &counts = kernels_[kernel].counts;
  if (counts.scratch_bytes == 0) return;
  const uint32_t spilled = counts.registers ? counts.registers->spilled_vgprs : 0;
  Candidate &one = candidate({kernel, Finding::Cause::spills, {}});
  one.changes.push_back(profile::keepInRegisters);
  one.finding.counts = fmt::format(
      "{} bytes of scratch per lane, {} spilled registers, {}{} bytes moved", counts.lane_scratch,
      spilled, counts.is_counted ? "" : "about ", counts.scratch_bytes);
  one.finding.advice =
      spilled != 0
          ? "Use fewer registers at a time (smaller tiles, less unrolling), or promise smaller "
            "workgroups in __launch_bounds__, which leaves more registers to each lane."
          : "An array is indexed by values known only at run time, so it is in memory: unroll the "
            "loop around it, or put it into LDS.";
}

/// Too few workgroups for the GPU, though each has much to do.
void Finder::launch(uint32_t kernel) {
  const ModeledKernel &now = kernels_[kernel];
  // One wave that all wait for would still be one.
  if (now.counts.longest_wave > 1 || !profile::leavesUnitsIdle(now)) return;
  Candidate &one = candidate({kernel, Finding::Cause::launch, {}});
  one.changes.push_back(
      [&gpu = now.gpu](KernelProfile &changed) { profile::spreadWorkgroups(changed, gpu); });
  one.finding.counts =
      fmt::format("workgroups for {:.0f} of {} compute units, whose waves execute {:.0f} "
                  "instructions each",
                  now.time.occupancy.units, now.gpu.units,
                  static_cast<double>(now.counts.executions()) /
                      static_cast<double>(std::max<uint64_t>(now.counts.waves, 1)));
  one.finding.advice = "Launch more workgroups and let each do less: each compute unit needs at "
                       "least one.";
}

Findings Finder::run() {
  findSteps();
  std::vector<std::size_t> index(kernels_.size()); // of an access among those of its kernel
  for (const Access &one : log_.accesses) access(one, index[one.kernel]++);
  Findings out;
  for (uint32_t k = 0; k < kernels_.size(); ++k) {
    out.kernels.push_back(costOf(kernels_[k]));
    if (!kernels_[k].isKnown()) continue;
    occupancy(k);
    uneven(k);
    divergence(k);
    filling(k);
    spills(k);
    launch(k);
  }
  std::map<uint32_t, std::vector<Candidate *>> by_kernel;
  for (auto &[key, one] : candidates_)
    if (kernels_[one.finding.kernel].isKnown()) by_kernel[one.finding.kernel].push_back(&one);
  for (auto &[kernel, of_kernel] : by_kernel)
    for (Finding &found : ranked(kernels_[kernel], of_kernel)) out.list.push_back(std::move(found));
  orderByRun(out);
  return out;
}

} // namespace

std::span<const char *const> causeNames() {
  static constexpr std::array<const char *, 11> kNames = {"scattered access",
                                                          "bank conflicts",
                                                          "atomics on one address in a wave",
                                                          "atomics of all waves on one address",
                                                          "divergence",
                                                          "low occupancy",
                                                          "uneven waves",
                                                          "scratch memory",
                                                          "too few workgroups",
                                                          "partly filled waves",
                                                          "launch overhead"};
  return kNames;
}

const char *nameOf(Finding::Cause cause) { return causeNames()[static_cast<std::size_t>(cause)]; }

Findings findingsOf(const RunLog &log, const std::vector<ModeledKernel> &kernels) {
  return Finder(log, kernels).run();
}

Findings findingsOf(const RunLog &log) {
  return findingsOf(log, profile::modelOf(profile::kernelsOf(log)));
}

} // namespace fade::report
