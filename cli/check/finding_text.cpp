#include "check/finding_text.h"

#include "base/run_folder.h"
#include "base/text_layout.h"
#include "check/advice.h"
#include "check/hang_text.h"
#include "checks/options.h"
#include "fade/json_writer.h"
#include "fade/observer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <vector>

namespace fade::cli {
namespace {

using namespace fade::checks;

constexpr std::array<const char *, 3> kKinds = {"load", "store", "atomic"};
constexpr std::array<const char *, 3> kSpaces = {"global", "lds", "scratch"};
constexpr std::array<const char *, static_cast<std::size_t>(Problem::count)> kProblems = {
    "outside",
    "gap",
    "freed",
    "lds_bounds",
    "scratch_bounds",
    "arguments",
    "read_only",
    "misaligned",
    "freed_twice",
    "uninitialized",
    "race",
    "overlap",
    "lanes",
    "lost_update",
    "divergent_barrier",
    "missing_waves",
    "inactive_lane",
    "unwaited",
    "wait_states",
    "leak",
    "polls",
    "at_barrier",
    "at_global_barrier",
    "not_ended",
    "nan",
    "infinity",
    "order",
    "overflow",
    "flushed",
    "half_wave",
    "array_bounds",
    "copy_overlap",
    "unregistered",
    "freed_early",
    "used_early"};

constexpr std::array<const char *, static_cast<std::size_t>(Between::count)> kLacks = {
    "", "release", "acquire"};

constexpr std::array<const char *, static_cast<std::size_t>(Writer::count)> kWriters = {
    "unknown", "nobody", "ended", "same_wave", "waits"};

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

const char *kindOf(const Place &place) { return kKinds[place.kind % kKinds.size()]; }

std::string bytes(uint64_t n) { return n == 1 ? "1 byte" : grouped(n) + " bytes"; }

std::string accessOf(const Place &place) {
  return fmt::format("{} of {}", kindOf(place), bytes(place.size));
}

std::string shortPlace(const FoundFrame &frame) {
  return fmt::format("{}:{}", std::filesystem::path(frame.file).filename().string(), frame.line);
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

/// An access that belongs to one array and hits another one.
std::string arrayText(const FoundFinding &f) {
  const bool in_lds = static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds;
  const std::string array =
      fmt::format("array {}, {}{}", f.rule, bytes(f.raw.limit), in_lds ? " of LDS" : "");
  const std::string hit = f.cure.empty() || f.cure == f.rule ? "" : ": it hits " + f.cure;
  if (f.raw.waves == 0) return fmt::format("outside of {}{}", array, hit);
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
    return fmt::format("two work-items of a wave change {} at once: one of the updates is lost",
                       where);
  const bool overlap = problem == Problem::overlap;
  return fmt::format("{} and {} of {} by different {}, and nothing orders them",
                     kindOf(f.raw.place), kindOf(f.raw.other), where,
                     overlap ? "dispatches on different queues" : "waves");
}

/// "v3", "a3", "s3", "vcc_lo".
std::string registerName(const Finding &f) {
  constexpr uint64_t accumulators = 256, vcc_lo = 106, vcc_hi = 107, m0 = 124;
  if (f.space)
    return f.address < accumulators ? fmt::format("v{}", f.address)
                                    : fmt::format("a{}", f.address - accumulators);
  if (f.address == vcc_lo || f.address == vcc_hi) return f.address == vcc_lo ? "vcc_lo" : "vcc_hi";
  return f.address == m0 ? "m0" : fmt::format("s{}", f.address);
}

/// The wait that would have been enough: s_waitcnt's counter, or an instruction of gfx12.
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

std::string unwaitedText(const FoundFinding &f) {
  const bool reads = static_cast<AccessKind>(f.raw.place.kind) == AccessKind::load;
  return fmt::format("{} is {} before the load into it was waited for: {}{} is missing",
                     registerName(f.raw), reads ? "read" : "written",
                     f.raw.waves & kCountersApart ? "" : "s_waitcnt ", missingWait(f.raw));
}

/// What would have been enough between the two.
std::string missingStates(const FoundFinding &f) {
  if (!f.cure.empty()) return f.cure;
  const uint64_t missing = f.raw.limit - std::min<uint64_t>(f.raw.waves, f.raw.limit);
  constexpr uint64_t most = 8; // of one s_nop, on all GPUs
  std::string text = fmt::format("s_nop {}", std::clamp<uint64_t>(missing, 1, most) - 1);
  if (missing > most) text += fmt::format("; s_nop {}", std::min(missing - most, most) - 1);
  return text;
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

std::string itemText(const Place &p) {
  return fmt::format("work-item {},{},{} of workgroup {},{},{}", p.item[0], p.item[1], p.item[2],
                     p.group[0], p.group[1], p.group[2]);
}

void writePlace(JsonWriter &json, const FoundPlace &place, const FoundFinding &f) {
  json.field("file", place.shown.file);
  json.field("line", place.shown.line);
  json.field("column", place.shown.column);
  if (place.is_near) json.field("near", true);
  if (!place.merged.empty())
    json.object("merged", [&] {
      json.field("of_byte", place.is_of_byte);
      json.list("lines", [&] {
        for (const uint32_t line : place.merged) json.value(line);
      });
    });
  json.field("function", place.shown.function);
  json.field("source", place.source);
  json.field("instruction", place.instruction);
  json.field("address_in_code", place.raw.address);
  const auto check = static_cast<Check>(f.raw.check);
  if (check != Check::sync && check != Check::wait && check != Check::hazard) {
    json.field("access", kindOf(place.raw));
    json.field("size", place.raw.size);
  }
  json.list("workgroup", [&] {
    for (const uint32_t id : place.raw.group) json.value(id);
  });
  json.list("work_item", [&] {
    for (const uint32_t id : place.raw.item) json.value(id);
  });
  json.list("stack", [&] {
    for (const FoundFrame &frame : place.stack)
      json.object([&] {
        json.field("function", frame.function);
        json.field("file", frame.file);
        json.field("line", frame.line);
        json.field("column", frame.column);
      });
  });
}

/// Names and source are whatever somebody wrote; they are not to command the terminal.
std::string row(const char *label, std::string text) {
  std::ranges::replace(text, '\t', ' ');
  return fmt::format("  {:<10} {}\n", label, printable(text));
}

/// Calls that were inlined around the line that is shown, from the inside.
std::string callersText(const FoundPlace &place) {
  std::string text;
  auto at = std::ranges::find(place.stack, place.shown);
  constexpr int most = 4;
  for (int shown = 0; at != place.stack.end() && ++at != place.stack.end() && shown < most; ++shown)
    if (at->line != 0)
      text += row("", fmt::format("in {}, called at {}", std::prev(at)->function, shortPlace(*at)));
  return text;
}

/// Other lines that the compiler has put into the same instruction.
std::string mergedText(const FoundPlace &place) {
  if (place.merged.empty()) return "";
  std::string lines;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, place.merged.size()); ++i)
    lines += fmt::format("{}{}", i ? ", " : "", place.merged[i]);
  if (place.merged.size() > most) lines += ", ...";
  const char *word = place.merged.size() == 1 ? "line" : "lines";
  return row("", place.is_of_byte
                     ? fmt::format("merged with {} {} into one instruction", word, lines)
                     : fmt::format("or {} {}, merged with it into one instruction", word, lines));
}

std::string detailOfPlace(const char *label, const FoundPlace &place, const FoundFinding &f) {
  std::string text = row(label, placeText(place, f.kernel));
  if (!place.source.empty()) text += row("", place.source);
  if (!place.instruction.empty()) text += row("", place.instruction);
  text += mergedText(place);
  return text + callersText(place) + row("", itemText(place.raw));
}

/// A call of the host's, not an instruction of a kernel.
bool isOfHost(const FoundFinding &f) { return f.raw.called_by[0].module != 0; }

/// Where else: lines of details that are not yet said, and other kernels.
std::string alsoText(const FoundFinding &f) {
  const auto linesOf = [](const FoundFinding &one) {
    std::string text = one.place.shown.line != 0 ? shortPlace(one.place.shown)
                                                 : fmt::format("{:#x}", one.place.raw.address);
    const auto check = static_cast<Check>(one.raw.check);
    if ((check == Check::race || check == Check::wave) &&
        (one.raw.other.pc || !one.other_api.empty()) && one.other.shown.line != 0 &&
        one.other.shown != one.place.shown)
      text += " with " + (one.other.shown.file == one.place.shown.file
                              ? std::to_string(one.other.shown.line)
                              : shortPlace(one.other.shown));
    return text;
  };
  constexpr std::size_t most = 6;
  std::set<std::string> seen{linesOf(f)}, kernels{f.kernel};
  std::vector<std::string> places;
  for (const FoundFinding &detail : f.details) {
    kernels.insert(detail.kernel);
    const std::string check{nameOf(static_cast<Check>(detail.raw.check))}, at = linesOf(detail);
    if (seen.insert(at).second)
      places.push_back(detail.raw.check == f.raw.check ? at : fmt::format("{} ({})", at, check));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, places.size()); ++i)
    text += (i ? ", " : "") + places[i];
  if (places.size() > most) text += fmt::format(" and {} more", places.size() - most);
  text = text.empty() ? "" : row("also at", text);
  if (kernels.size() > 1)
    text +=
        row("also in", fmt::format("{} other kernel{} or instance{} of it", kernels.size() - 1,
                                   kernels.size() == 2 ? "" : "s", kernels.size() == 2 ? "" : "s"));
  return text;
}

} // namespace

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
    return fmt::format("{} at {:#x}, which is in no allocation", accessOf(p), f.raw.address);
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
    return fmt::format("{} behind the kernel's arguments, which are {}", accessOf(p),
                       bytes(f.raw.limit));
  case Problem::read_only:
    return fmt::format("{} at {:#x}, in memory that can only be read", accessOf(p), f.raw.address);
  case Problem::misaligned:
    return fmt::format("{} at {:#x}, which is not a multiple of {}", accessOf(p), f.raw.address,
                       p.size);
  case Problem::freed_twice:
    return fmt::format("{} of memory that was freed before: {}", f.api,
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
                       f.raw.waves != 0 ? "which is not active here"
                                        : "which has no work-item: the wave is not full");
  case Problem::unwaited: return unwaitedText(f);
  case Problem::wait_states: return hazardText(f);
  case Problem::leak: return leakText(f);
  case Problem::nan_born:
  case Problem::infinity_born:
    return fmt::format("{} is born: {}, and stored to {}",
                       static_cast<Problem>(f.raw.problem) == Problem::nan_born ? "a NaN"
                                                                                : "an infinity",
                       f.rule, memoryText(f));
  case Problem::order:
    return f.raw.limit == 0
               ? fmt::format("the result is not the captured one in the usual order either: {}",
                             f.kernel)
               : fmt::format("{} of {} orders of waves and workgroups give another result: {}; "
                             "seed {}, {} switch{}",
                             f.raw.count, f.raw.waves, f.kernel, f.raw.address, f.raw.limit,
                             f.raw.limit == 1 ? "" : "es");
  case Problem::overflow:
    return fmt::format("a conversion overflows to infinity: {}, stored to {}", f.rule,
                       memoryText(f));
  case Problem::half_wave:
    return fmt::format("{} and {} of {} are in order only because both work-items are in one wave "
                       "of 64: with waves of 32 they race",
                       kindOf(f.raw.place), kindOf(f.raw.other), memoryText(f));
  case Problem::flushed:
    return fmt::format("a denormal is flushed to 0: {}, and stored to {}", f.rule, memoryText(f));
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

const char *secondPlaceName(const FoundFinding &f) {
  if (!f.other_api.empty()) return "called at";
  switch (static_cast<Check>(f.raw.check)) {
  case Check::sync:
    return static_cast<Problem>(f.raw.problem) == Problem::inactive_lane ? "used at" : "ended at";
  case Check::wait: return "loaded at";
  case Check::hazard: return "after";
  case Check::init: return "used at";
  case Check::nan:
  case Check::precision: return "stored at";
  case Check::hang:
    return static_cast<Problem>(f.raw.problem) == Problem::polls ? "written at" : "others at";
  default: return "other at";
  }
}

namespace {

std::string ranksText(const FoundFinding &f) {
  return f.ranks.empty() ? "" : row("ranks", rankList(f.ranks));
}

/// The other side, if it is the host's.
std::string otherCallText(const FoundFinding &f) {
  if (f.other_api.empty()) return "";
  const FoundFrame &at = f.other.shown;
  if (at.line == 0) return row(secondPlaceName(f), f.other_api + " (no line information)");
  return row(secondPlaceName(f), fmt::format("{}:{}", at.file, at.line)) +
         (f.other.source.empty() ? "" : row("", f.other.source));
}

/// All places at which waves are, with those who could let them go on.
std::string hangText(const FoundFinding &f) {
  std::string text = fmt::format("hang: {}\n", f.rule) + row("kernel", f.kernel);
  const auto add = [&](const FoundFinding &wait) {
    text += row("waits", waitText(wait, memoryText(wait)));
    text += detailOfPlace("at", wait.place, wait);
    if (const std::string waker = wakerText(wait); !waker.empty()) text += row("for", waker);
  };
  add(f);
  for (const FoundFinding &detail : f.details) add(detail);
  text += ranksText(f);
  text += row("picture", chainText(waitChain(f)));
  return text + row("help", fmt::format("{} ({})", adviceOf(f), pageOf(f)));
}

} // namespace

std::string findingText(const FoundFinding &f) {
  const auto check = static_cast<Check>(f.raw.check);
  if (check == Check::hang) return hangText(f);
  std::string text = fmt::format("{}: {}", nameOf(check), messageOf(f));
  const std::string help = row("help", fmt::format("{} ({})", adviceOf(f), pageOf(f)));
  if (check == Check::leak || check == Check::schedules) return text + "\n" + ranksText(f) + help;
  text += f.raw.count > 1 ? fmt::format(" ({} times)\n", grouped(f.raw.count)) : "\n";
  if (isOfHost(f)) {
    text += row("at", placeText(f.place, f.kernel));
    if (!f.place.source.empty()) text += row("", f.place.source);
    return text + otherCallText(f) + alsoText(f) + ranksText(f) + help;
  }
  text += row("kernel", f.kernel);
  text += detailOfPlace("at", f.place, f);
  if (check == Check::init && f.raw.between.pc)
    text += row("copied at", placeText(f.between, f.kernel));
  if (!f.other_kernel.empty()) text += row("other", f.other_kernel);
  if (f.raw.other.pc) text += detailOfPlace(secondPlaceName(f), f.other, f);
  text += otherCallText(f);
  return text + alsoText(f) + ranksText(f) + help;
}

namespace {

void writeChain(JsonWriter &json, const WaitChain &chain) {
  json.object("chain", [&] {
    json.list("links", [&] {
      for (const WaitChain::Link &link : chain.links)
        json.object([&] {
          json.field("at", link.at);
          json.field("waves", link.waves);
          json.field("waits_for", link.thing);
        });
    });
    json.field("end", chain.end);
    json.field("back_to", static_cast<int64_t>(chain.back_to));
  });
}

const char *betweenName(const FoundFinding &f) {
  switch (static_cast<Check>(f.raw.check)) {
  case Check::hang: return "writer_at";
  case Check::init: return "copied_at";
  default: return "between";
  }
}

void writeFinding(JsonWriter &json, const FoundFinding &f) {
  json.field("check", nameOf(static_cast<Check>(f.raw.check)));
  json.field("problem", kProblems[f.raw.problem]);
  json.field("message", messageOf(f));
  json.field("count", f.raw.count);
  json.field("process", f.process);
  if (!f.ranks.empty())
    json.list("ranks", [&] {
      for (const uint64_t rank : f.ranks) json.value(rank);
    });
  if (isOfHost(f)) {
    json.field("file", f.place.shown.file);
    json.field("line", f.place.shown.line);
    json.field("column", f.place.shown.column);
    json.field("function", f.place.shown.function);
    json.field("source", f.place.source);
    json.field("api", f.api);
  } else if (static_cast<Check>(f.raw.check) != Check::leak) {
    json.field("kernel", f.kernel);
    json.field("symbol", f.symbol);
    json.field("gpu", f.gpu);
    json.field("dispatch", f.raw.dispatch);
    if (static_cast<Check>(f.raw.check) == Check::hang) json.field("summary", f.rule);
    if (static_cast<Check>(f.raw.check) == Check::nan ||
        static_cast<Check>(f.raw.check) == Check::precision)
      json.field("operation", f.rule);
    if (static_cast<Check>(f.raw.check) == Check::schedules) {
      json.field("seed", f.raw.address);
      json.field("switches", f.raw.limit);
      json.field("orders", f.raw.waves);
    }
    if (static_cast<Check>(f.raw.check) == Check::wait) {
      json.field("register", registerName(f.raw));
      json.field("missing", missingWait(f.raw));
    } else if (static_cast<Check>(f.raw.check) == Check::hazard) {
      json.field("rule", f.rule);
      if (f.raw.address != kNoRegister) json.field("register", registerName(f.raw));
      json.field("present", f.raw.waves);
      json.field("needed", f.raw.limit);
      json.field("missing", missingStates(f));
    } else {
      json.field("space", kSpaces[f.raw.space % kSpaces.size()]);
      json.field("address", f.raw.address);
      if (static_cast<Problem>(f.raw.problem) == Problem::array_bounds)
        json.object("array", [&] {
          json.field("name", f.rule);
          json.field("size", f.raw.limit);
          if (f.raw.waves != 0) json.field("distance", f.raw.distance);
          if (!f.cure.empty()) json.field("hits", f.cure);
        });
      if (static_cast<Problem>(f.raw.problem) == Problem::polls) {
        json.field("value", f.raw.limit);
        json.field("writer", kWriters[f.raw.lacks % kWriters.size()]);
      }
    }
    writePlace(json, f.place, f);
  }
  if (!f.other_api.empty())
    json.object("other", [&] {
      json.field("api", f.other_api);
      json.field("file", f.other.shown.file);
      json.field("line", f.other.shown.line);
      json.field("column", f.other.shown.column);
      json.field("function", f.other.shown.function);
      json.field("source", f.other.source);
    });
  if (f.raw.other.pc)
    json.object("other", [&] {
      if (!f.other_kernel.empty()) json.field("kernel", f.other_kernel);
      writePlace(json, f.other, f);
    });
  if (f.between.raw.pc)
    json.object(betweenName(f), [&] {
      if (static_cast<Check>(f.raw.check) == Check::race)
        json.field("lacks", kLacks[f.raw.lacks % kLacks.size()]);
      writePlace(json, f.between, f);
    });
  if (f.allocation.raw.number != 0)
    json.object("allocation", [&] {
      json.field("number", f.allocation.raw.number);
      json.field("address", f.allocation.raw.base);
      json.field("size", f.allocation.raw.size);
      json.field("distance", f.raw.distance);
      json.field("freed", f.allocation.raw.is_freed != 0);
      json.field("on_host", f.allocation.raw.on_host != 0);
      json.field("api", f.allocation.api);
      json.field("file", f.allocation.caller.file);
      json.field("line", f.allocation.caller.line);
      const auto frame = [&](const char *name, const FoundFrame &where) {
        if (where.line == 0) return;
        json.object(name, [&] {
          json.field("file", where.file);
          json.field("line", where.line);
        });
      };
      frame("through", f.allocation.through);
      frame("freed_at", f.allocation.freed_by);
    });
  json.field("advice", adviceOf(f));
  json.field("page", pageOf(f));
}

} // namespace

std::string findingJson(const FoundFinding &f) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "finding");
    json.field("version", 1);
    json.field("id", f.id);
    if (f.is_known) json.field("known", true);
    writeFinding(json, f);
    json.field("exactness", exactnessText(f.inexact));
    if (static_cast<Check>(f.raw.check) == Check::hang) writeChain(json, waitChain(f));
    if (!f.details.empty())
      json.list("details", [&] {
        for (const FoundFinding &detail : f.details)
          json.object([&] { writeFinding(json, detail); });
      });
  });
  return json.take();
}

} // namespace fade::cli
