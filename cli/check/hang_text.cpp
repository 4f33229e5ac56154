#include "check/hang_text.h"

#include "fade/observer.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {
namespace {

using namespace fade::checks;

std::string lineOfWait(const FoundPlace &place) {
  if (place.shown.line == 0) return fmt::format("{:#x}", place.raw.address);
  return fmt::format("{}:{}", std::filesystem::path(place.shown.file).filename().string(),
                     place.shown.line);
}

std::string itemOfWait(const Place &p) {
  return fmt::format("work-item {},{},{} of workgroup {},{},{}", p.item[0], p.item[1], p.item[2],
                     p.group[0], p.group[1], p.group[2]);
}

std::string valueText(const FoundFinding &f) {
  const uint64_t value = f.raw.limit;
  return value < 10 ? std::to_string(value) : fmt::format("{} ({:#x})", value, value);
}

Writer writerOf(const FoundFinding &f) { return static_cast<Writer>(f.raw.lacks); }

} // namespace

std::string waitText(const FoundFinding &f, const std::string &memory) {
  const bool one = f.raw.count == 1;
  const std::string waves = fmt::format("{} wave{}", f.raw.count, one ? "" : "s");
  switch (static_cast<Problem>(f.raw.problem)) {
  case Problem::polls:
    return fmt::format("{} poll{} {}{}, which is {}", waves, one ? "s" : "",
                       f.cure.empty() ? "" : "several places, one of them ", memory, valueText(f));
  case Problem::at_barrier:
    return fmt::format("{} wait{} at a barrier for others of the workgroup", waves, one ? "s" : "");
  case Problem::at_global_barrier:
    return fmt::format("{} wait{} at the grid's barrier for other workgroups", waves,
                       one ? "s" : "");
  default: return fmt::format("{} run{} here", waves, one ? "s" : "");
  }
}

std::string wakerText(const FoundFinding &f) {
  const auto problem = static_cast<Problem>(f.raw.problem);
  if (problem == Problem::at_barrier && f.raw.other.pc)
    return fmt::format("of which one, {}, is at {}", itemOfWait(f.raw.other), lineOfWait(f.other));
  if (problem != Problem::polls) return "";
  const std::string by = f.raw.other.pc ? fmt::format("last written at {} by {}",
                                                      lineOfWait(f.other), itemOfWait(f.raw.other))
                                        : "";
  switch (writerOf(f)) {
  case Writer::nobody: return "no flag or lock of this dispatch was written there";
  case Writer::ended: return by + ", whose wave has ended";
  case Writer::same_wave: return by + ", of the same wave";
  case Writer::waits: return fmt::format("{}, whose wave is at {} now", by, lineOfWait(f.between));
  default: return by.empty() ? "its writer is unknown" : by;
  }
}

namespace {

/// What an entry waits for, in short.
std::string thingOf(const FoundFinding &f) {
  switch (static_cast<Problem>(f.raw.problem)) {
  case Problem::polls:
    if (!f.cure.empty()) return "several places";
    if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds)
      return fmt::format("byte {} of LDS", f.raw.address);
    if (f.allocation.raw.number == 0) return fmt::format("{:#x}", f.raw.address);
    return fmt::format("byte {} of allocation {}", f.raw.distance, f.allocation.raw.number);
  case Problem::at_barrier: return "barrier";
  case Problem::at_global_barrier: return "barrier of the grid";
  default: return "";
  }
}

/// Who could end the wait: the line where that one is, or else in words.
struct Waker {
  std::string line, words;
};
Waker wakerOf(const FoundFinding &f) {
  const auto problem = static_cast<Problem>(f.raw.problem);
  if (problem == Problem::at_barrier && f.raw.other.pc) return {lineOfWait(f.other), ""};
  if (problem == Problem::at_global_barrier) return {"", "workgroups that have not arrived"};
  if (problem != Problem::polls) return {};
  switch (writerOf(f)) {
  case Writer::nobody: return {"", "never written"};
  case Writer::ended: return {"", "written by a wave that has ended"};
  case Writer::same_wave: return {"", "another lane of the same wave"};
  case Writer::waits: return {lineOfWait(f.between), ""};
  default: return {"", "unknown writer"};
  }
}

} // namespace

WaitChain waitChain(const FoundFinding &hang) {
  std::vector<const FoundFinding *> entries{&hang};
  for (const FoundFinding &detail : hang.details) entries.push_back(&detail);
  WaitChain chain;
  std::vector<const FoundFinding *> seen; // those of chain.links
  for (const FoundFinding *at = &hang; at;) {
    chain.links.push_back({lineOfWait(at->place), thingOf(*at), at->raw.count});
    seen.push_back(at);
    const Waker waker = wakerOf(*at);
    chain.end = waker.line.empty() ? waker.words : waker.line;
    if (waker.line.empty()) break;
    // Whoever has not come to a barrier is another one, though on the same line.
    const bool is_other = static_cast<Problem>(at->raw.problem) == Problem::at_barrier;
    const auto next = std::ranges::find_if(entries, [&](const FoundFinding *entry) {
      return lineOfWait(entry->place) == waker.line && !(is_other && entry == at);
    });
    if (next == entries.end()) break;
    at = *next;
    const auto known = std::ranges::find(seen, at);
    if (known == seen.end()) continue;
    chain.back_to = static_cast<int>(known - seen.begin());
    break;
  }
  return chain;
}

std::string chainText(const WaitChain &chain) {
  std::string text;
  for (const WaitChain::Link &link : chain.links)
    text += fmt::format("{}[{}, {} wave{}]{}", text.empty() ? "" : " ", link.at, link.waves,
                        link.waves == 1 ? "" : "s",
                        link.thing.empty() ? "" : fmt::format(" --{}-->", link.thing));
  if (chain.end.empty()) return text;
  if (chain.back_to >= 0) return fmt::format("{} [{}]: a cycle", text, chain.end);
  return fmt::format("{} ({})", text, chain.end);
}

std::string hangAdvice(const FoundFinding &hang) {
  const auto has = [&](auto is) { return is(hang) || std::ranges::any_of(hang.details, is); };
  const auto written = [](Writer writer) {
    return [=](const FoundFinding &f) {
      return static_cast<Problem>(f.raw.problem) == Problem::polls && writerOf(f) == writer;
    };
  };
  const auto is_at = [](Problem problem) {
    return [=](const FoundFinding &f) { return static_cast<Problem>(f.raw.problem) == problem; };
  };
  if (has(written(Writer::same_wave)))
    return "lanes of a wave run in lockstep: the one that holds the lock cannot continue while "
           "others "
           "of its wave spin; do the work inside the loop, where the lock was taken, or let one "
           "lane take it for all";
  if (has(written(Writer::ended)))
    return "its last writer has ended: it has to write once more, for example release the lock on "
           "every path";
  if (has(is_at(Problem::at_barrier)))
    return "a wave waits for others at a barrier, and they wait for something else: all must reach "
           "the same barriers";
  if (has(written(Writer::waits)))
    return "waves wait for each other: take locks in the same order, and release one before "
           "waiting for another";
  if (has(is_at(Problem::at_global_barrier)))
    return "all workgroups must reach the grid's barrier, and all must fit on the GPU at once "
           "(hipLaunchCooperativeKernel)";
  if (has(written(Writer::unknown)))
    return "find the code that writes it: a lock has to be released on every path, and a flag set "
           "by a wave that does not itself wait";
  if (has(written(Writer::nobody)))
    return "find the code that should write it: a workgroup that has not started, a later kernel "
           "in "
           "the stream, or the host";
  return "check the condition of the loop";
}

} // namespace fade::cli
