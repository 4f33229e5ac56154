#include "check/finding_message.h"

#include "base/text_layout.h"
#include "check/hang_text.h"
#include "fade/observer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {

using namespace fade::checks;

namespace {

constexpr std::array<const char *, 3> kKinds = {"load", "store", "atomic"};

std::string bytes(uint64_t n) { return n == 1 ? "1 byte" : grouped(n) + " bytes"; }

std::string accessOf(const Place &place) {
  return fmt::format("{} of {}", kindOf(place), bytes(place.size));
}

std::string allocationText(const FoundAllocation &a) {
  std::string text = fmt::format("allocation {}, {}", a.raw.number, bytes(a.raw.size));
  if (a.api.empty()) return text;
  text += ", " + a.api;
  if (a.caller.line != 0)
    text += " at " + shortPlace(a.caller);
  else if (!a.module.empty())
    text +=
        fmt::format(" in {}+{:#x}", std::filesystem::path(a.module).filename().string(), a.address);
  if (a.through.line != 0) text += " through " + shortPlace(a.through);
  if (a.raw.is_freed && a.freed_by.line != 0) text += ", freed at " + shortPlace(a.freed_by);
  return text;
}

/// Where an address is with regard to an allocation that does not hold it.
std::string relation(const FoundFinding &f) {
  const std::string what = allocationText(f.allocation);
  const AllocationInfo &a = f.allocation.raw;
  if (f.raw.distance < 0)
    return fmt::format("{} before {}", bytes(static_cast<uint64_t>(-f.raw.distance)), what);
  if (f.raw.address - a.base < a.size) return "across the end of " + what;
  if (f.raw.distance == 0) return "right after " + what;
  return fmt::format("{} after {}", bytes(static_cast<uint64_t>(f.raw.distance)), what);
}

/// Addresses of LDS have 32 bits; those before its start are at their other end.
std::string ldsByte(uint64_t address) {
  const auto offset = static_cast<int32_t>(address);
  return offset < 0 ? "-" + grouped(-static_cast<int64_t>(offset)) : grouped(address);
}

std::string uninitialized(const FoundFinding &f) {
  const std::string what =
      f.raw.limit != 0 // some of it is used, and was not written
          ? fmt::format("{}, {} of which nothing has written", accessOf(f.raw.place), f.raw.limit)
          : accessOf(f.raw.place) + " that nothing has written";
  if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds)
    return fmt::format("{}: byte {} of LDS", what, grouped(f.raw.address));
  if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::scratch)
    return fmt::format("{}: byte {} of private memory", what, grouped(f.raw.address));
  return fmt::format("{}: byte {} of {}", what, grouped(static_cast<uint64_t>(f.raw.distance)),
                     allocationText(f.allocation));
}

/// An access that belongs to one array and hits another one.
std::string arrayText(const FoundFinding &f) {
  const bool in_lds = static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds;
  const std::string array =
      fmt::format("array {}, {}{}", f.rule, bytes(f.raw.limit), in_lds ? " of LDS" : "");
  const std::string hit = f.cure.empty() || f.cure == f.rule ? "" : ": it hits " + f.cure;
  const auto reach = static_cast<ArrayReach>(f.raw.waves);
  if (reach == ArrayReach::unknown) return fmt::format("outside of {}{}", array, hit);
  if (reach == ArrayReach::across) return fmt::format("across the end of {}{}", array, hit);
  if (f.raw.distance < 0)
    return fmt::format("{} before {}{}", bytes(static_cast<uint64_t>(-f.raw.distance)), array, hit);
  return f.raw.distance == 0
             ? fmt::format("right after {}{}", array, hit)
             : fmt::format("{} after {}{}", bytes(static_cast<uint64_t>(f.raw.distance)), array,
                           hit);
}

/// A call of the host's that is not in order with a kernel, or with a copy.
std::string callText(const FoundFinding &f) {
  const bool of_host = f.raw.called_by[0].module != 0;
  const auto kind = static_cast<AccessKind>(f.raw.place.kind);
  const char *does = kind == AccessKind::load    ? "load from"
                     : kind == AccessKind::store ? "store to"
                                                 : "change";
  const std::string who =
      of_host ? fmt::format("{} may still {}", f.other_api, f.raw.waves != 0 ? "write" : "read")
              : fmt::format("a kernel may still {}", does);
  const std::string memory = allocationText(f.allocation);
  switch (static_cast<Problem>(f.raw.problem)) {
  case Problem::copy_overlap:
    return fmt::format("{} {} {}, which a kernel may {} at the same time: nothing orders them",
                       f.other_api, f.raw.waves != 0 ? "writes" : "reads", memoryText(f), does);
  case Problem::unregistered:
  case Problem::freed_early:
    return fmt::format("{} of memory that {}: {}", of_host ? f.api : f.other_api, who, memory);
  default: break;
  }
  return of_host ? fmt::format("{} may use memory before {} has allocated it: {}", f.other_api,
                               f.api, memory)
                 : fmt::format("{} in memory that {} allocates in another stream, and nothing "
                               "orders them: {}",
                               accessOf(f.raw.place), f.other_api, memory);
}

std::string raceText(const FoundFinding &f) {
  const std::string where = memoryText(f);
  const auto problem = static_cast<Problem>(f.raw.problem);
  if (problem == Problem::lanes)
    return fmt::format("two work-items of a wave store different values to {} at once", where);
  if (problem == Problem::lost_update)
    return fmt::format("two work-items of a wave update {} at once: one of the updates is lost",
                       where);
  const bool overlap = problem == Problem::overlap;
  return fmt::format("{} and {} of {} by different {}, and nothing orders them",
                     kindOf(f.raw.place), kindOf(f.raw.other), where,
                     overlap ? "dispatches on different queues" : "waves");
}

std::string unwaitedText(const FoundFinding &f) {
  const bool reads = static_cast<AccessKind>(f.raw.place.kind) == AccessKind::load;
  return fmt::format("{} is {} before the load into it was waited for: {}{} is missing",
                     registerName(f.raw), reads ? "read" : "written",
                     f.raw.waves & kCountersApart ? "" : "s_waitcnt ", missingWait(f.raw));
}

std::string hazardText(const FoundFinding &f) {
  const std::string at =
      f.raw.address == kNoRegister ? "" : fmt::format(" ({})", registerName(f.raw));
  if (!f.cure.empty()) return fmt::format("{}{}: {} is missing between them", f.rule, at, f.cure);
  return fmt::format("{}{}: {} {} between them, {} needs {}; {} is missing", f.rule, at,
                     f.raw.waves, f.raw.waves == 1 ? "wait state" : "wait states", f.gpu,
                     f.raw.limit, missingStates(f));
}

/// All that the same line allocated.
std::string leakText(const FoundFinding &f) {
  if (f.raw.count == 1) return "never freed: " + allocationText(f.allocation);
  return fmt::format("never freed: {} in {} allocations, the first of them {}", bytes(f.raw.limit),
                     grouped(f.raw.count), allocationText(f.allocation));
}

} // namespace

const char *kindOf(const Place &place) { return kKinds[place.kind % kKinds.size()]; }

std::string shortPlace(const FoundFrame &frame) {
  return fmt::format("{}:{}", std::filesystem::path(frame.file).filename().string(), frame.line);
}

std::string memoryText(const FoundFinding &f) {
  if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds)
    return fmt::format("byte {} of LDS", grouped(f.raw.address));
  if (f.allocation.raw.number != 0)
    return fmt::format("byte {} of {}", grouped(static_cast<uint64_t>(f.raw.distance)),
                       allocationText(f.allocation));
  if (static_cast<Problem>(f.raw.problem) == Problem::copy_overlap && !f.rule.empty())
    return fmt::format("byte {} of {}", grouped(static_cast<uint64_t>(f.raw.distance)), f.rule);
  return fmt::format("{:#x}", f.raw.address);
}

std::string registerName(const Finding &f) {
  constexpr uint64_t accumulators = 256, vcc_lo = 106, vcc_hi = 107, m0 = 124;
  if (f.space == kUnwaitedLds && static_cast<Check>(f.check) == Check::wait)
    return fmt::format("byte {} of LDS", grouped(f.address));
  if (f.space)
    return f.address < accumulators ? fmt::format("v{}", f.address)
                                    : fmt::format("a{}", f.address - accumulators);
  if (f.address == vcc_lo || f.address == vcc_hi) return f.address == vcc_lo ? "vcc_lo" : "vcc_hi";
  return f.address == m0 ? "m0" : fmt::format("s{}", f.address);
}

std::string missingWait(const Finding &f) {
  const auto counter = static_cast<WaitCounter>(f.waves & ~kCountersApart);
  if (f.waves & kCountersApart) switch (counter) {
    case WaitCounter::vector: return fmt::format("s_wait_loadcnt {:#x}", f.limit);
    case WaitCounter::flat: return "s_wait_loadcnt_dscnt 0x0";
    case WaitCounter::lds: return fmt::format("s_wait_dscnt {:#x}", f.limit);
    default: return fmt::format("s_wait_kmcnt {:#x}", f.limit);
    }
  switch (counter) {
  case WaitCounter::vector: return fmt::format("vmcnt({})", f.limit);
  case WaitCounter::flat: return "vmcnt(0) lgkmcnt(0)";
  default: return fmt::format("lgkmcnt({})", f.limit);
  }
}

std::string missingStates(const FoundFinding &f) {
  if (!f.cure.empty()) return f.cure;
  const uint64_t missing = f.raw.limit - std::min<uint64_t>(f.raw.waves, f.raw.limit);
  constexpr uint64_t most = 8; // of one s_nop, on all GPUs
  std::string text = fmt::format("s_nop {}", std::clamp<uint64_t>(missing, 1, most) - 1);
  if (missing > most) text += fmt::format("; s_nop {}", std::min(missing - most, most) - 1);
  return text;
}

bool isOfHost(const FoundFinding &f) { return f.raw.called_by[0].module != 0; }

std::string placeText(const FoundPlace &place, const std::string &kernel) {
  const char *near = place.is_near ? "near " : "";
  if (place.shown.line != 0)
    return place.shown.column != 0
               ? fmt::format("{}{}:{}:{}", near, place.shown.file, place.shown.line,
                             place.shown.column)
               : fmt::format("{}{}:{}", near, place.shown.file, place.shown.line);
  if (place.raw.code != 0)
    return fmt::format("{} at {:#x} (no line information)",
                       place.shown.function.empty() ? kernel : place.shown.function,
                       place.raw.address);
  return fmt::format("{} at {:#x} (code object unknown)", kernel, place.raw.pc);
}

std::string messageOf(const FoundFinding &f) {
  const Place &p = f.raw.place;
  switch (static_cast<Problem>(f.raw.problem)) {
  case Problem::outside:
    return fmt::format("{} at {:#x}, outside of all allocations", accessOf(p), f.raw.address);
  case Problem::gap: return fmt::format("{}, {}", accessOf(p), relation(f));
  case Problem::freed:
    return fmt::format("{} in freed memory: {}", accessOf(p), allocationText(f.allocation));
  case Problem::lds_bounds:
    return fmt::format("{} at byte {} of LDS, of which the workgroup has {}", accessOf(p),
                       ldsByte(f.raw.address), bytes(f.raw.limit));
  case Problem::scratch_bounds:
    return fmt::format("{} at byte {} of private memory, of which a work-item has {}", accessOf(p),
                       grouped(f.raw.address), bytes(f.raw.limit));
  case Problem::arguments:
    return fmt::format("{} past the end of the kernel's arguments ({})", accessOf(p),
                       bytes(f.raw.limit));
  case Problem::read_only:
    return fmt::format("{} at {:#x}, in read-only memory", accessOf(p), f.raw.address);
  case Problem::misaligned:
    return fmt::format("{} at {:#x}, which is not a multiple of {}", accessOf(p), f.raw.address,
                       p.size);
  case Problem::freed_twice:
    return fmt::format("{} of memory that is already freed: {}", f.api,
                       allocationText(f.allocation));
  case Problem::uninitialized: return uninitialized(f);
  case Problem::race:
  case Problem::overlap:
  case Problem::lanes:
  case Problem::lost_update: return raceText(f);
  case Problem::divergent_barrier:
    return fmt::format("barrier reached by {} of the {} work-items of a wave", f.raw.waves,
                       f.raw.limit);
  case Problem::missing_waves:
    return fmt::format("barrier reached by {} of {} waves: the others have ended", f.raw.waves,
                       f.raw.limit);
  case Problem::inactive_lane:
    return fmt::format("the value of lane {} is used, {}", f.raw.limit,
                       f.raw.waves != 0 ? "but the lane is inactive here"
                                        : "but the lane has no work-item: the wave is partial");
  case Problem::unwaited: return unwaitedText(f);
  case Problem::wait_states: return hazardText(f);
  case Problem::leak: return leakText(f);
  case Problem::nan_born:
  case Problem::infinity_born:
    return fmt::format("{} {}{}, stored to {}",
                       static_cast<Problem>(f.raw.problem) == Problem::nan_born ? "NaN"
                                                                                : "infinity",
                       f.raw.limit != 0 ? "" : "produced by ", f.rule, memoryText(f));
  case Problem::order:
    return f.raw.limit == 0
               ? fmt::format(
                     "the result differs from the captured result even in the usual order: {}",
                     f.kernel)
               : fmt::format("{} of {} orders of waves and workgroups give a different result: {}; "
                             "seed {}, {} switch{}",
                             f.raw.count, f.raw.waves, f.kernel, f.raw.address, f.raw.limit,
                             f.raw.limit == 1 ? "" : "es");
  case Problem::overflow:
    return fmt::format("overflow to infinity in {}, stored to {}", f.rule, memoryText(f));
  case Problem::half_wave:
    return fmt::format("{} and {} of {} are in order only because both work-items are in one wave "
                       "of 64: with waves of 32 they race",
                       kindOf(f.raw.place), kindOf(f.raw.other), memoryText(f));
  case Problem::flushed:
    return fmt::format("denormal result of {} flushed to 0, stored to {}", f.rule, memoryText(f));
  case Problem::copy_overlap:
  case Problem::unregistered:
  case Problem::freed_early:
  case Problem::used_early: return callText(f);
  case Problem::array_bounds: return fmt::format("{}, {}", accessOf(p), arrayText(f));
  case Problem::polls:
  case Problem::at_barrier:
  case Problem::at_global_barrier:
  case Problem::not_ended: {
    const std::string waker = wakerText(f), wait = waitText(f, memoryText(f));
    return waker.empty() ? wait : wait + ", " + waker;
  }
  case Problem::count: break;
  }
  return "";
}

std::string exactnessText(uint32_t inexact) {
  struct Kind {
    uint32_t bit;
    const char *name;
  };
  static constexpr Kind functions[] = {
      {kInexactRcp, "rcp"}, {kInexactRsq, "rsq"}, {kInexactSqrt, "sqrt"}, {kInexactExp, "exp"},
      {kInexactLog, "log"}, {kInexactSin, "sin"}, {kInexactCos, "cos"}};
  static constexpr Kind others[] = {{kInexactMatrix, "the order of sums in matrix instructions"},
                                    {kInexactAtomics, "the order of float atomics"},
                                    {kInexactClock, "clocks"}};
  std::string used;
  for (const Kind &k : functions)
    if (inexact & k.bit) used += std::string(used.empty() ? "" : ", ") + k.name;
  if (!used.empty()) used = "approximate instructions (" + used + ")";
  for (const Kind &k : others)
    if (inexact & k.bit) used += std::string(used.empty() ? "" : ", ") + k.name;
  const std::string first = used.empty()
                                ? "arithmetic is bit for bit that of a card"
                                : fmt::format("results may differ from a card's in {}", used);
  return first + "; memory accesses are in order here, on a card they need not be "
                 "(docs/software-gpu.md#exactness)";
}

} // namespace fade::cli
