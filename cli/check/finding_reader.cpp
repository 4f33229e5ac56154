#include "check/finding_reader.h"

#include "check/finding_builder.h"
#include "check/finding_places.h"
#include "check/race_order.h"
#include "check/recorded_findings.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace fade::cli {
namespace {

/// The function of a mathematical library that the place is in; empty: none.
std::string mathFunction(const FoundPlace &place) {
  std::string name;
  for (const FoundFrame &frame : place.stack) {
    const bool is_math =
        frame.function.starts_with("__ocml_") ||
        (codeobj::isSystemSource(frame.file) && (frame.file.find("math") != std::string::npos ||
                                                 frame.file.find("hip_fp16") != std::string::npos));
    if (!is_math) break;
    name = frame.function.substr(0, frame.function.find('('));
  }
  return name;
}

namespace fs = std::filesystem;
using namespace fade::checks;

/// Unrolled loops and several devices make many instructions of one place in the source.
bool isSamePlace(const FoundPlace &a, const FoundPlace &b) {
  if (a.raw.kind != b.raw.kind || (a.raw.code == 0) != (b.raw.code == 0)) return false;
  if (a.raw.code == 0) return a.raw.pc == b.raw.pc && a.shown == b.shown;
  if (a.shown.line != 0 && a.shown.column != 0) return a.stack == b.stack;
  return a.raw.address == b.raw.address && a.instruction == b.instruction &&
         std::ranges::equal(a.raw.callers, b.raw.callers);
}

/// Whether it is one mistake, for those who read about it.
bool isSame(const FoundFinding &a, const FoundFinding &b) {
  if (a.raw.check != b.raw.check || a.raw.problem != b.raw.problem || a.gpu != b.gpu) return false;
  if (a.raw.called_by[0].module != 0)
    return a.place.shown == b.place.shown && a.other.shown == b.other.shown;
  const auto is_same_pair = [&](const FoundPlace &place, const FoundPlace &other) {
    return isSamePlace(a.place, place) && isSamePlace(a.other, other);
  };
  const bool is_same_kernel = a.symbol == b.symbol && a.other_kernel == b.other_kernel;
  switch (static_cast<Check>(a.raw.check)) {
  case Check::memory:
    return is_same_kernel && isSamePlace(a.place, b.place) && a.other.shown == b.other.shown &&
           (a.raw.distance < 0) == (b.raw.distance < 0);
  case Check::init: return is_same_kernel && isSamePlace(a.place, b.place); // however it is used
  case Check::hazard:
  case Check::wait: // assembly has several instructions in one place
    return is_same_kernel && a.raw.address == b.raw.address && is_same_pair(b.place, b.other) &&
           a.place.raw.address == b.place.raw.address && a.other.raw.address == b.other.raw.address;
  default: return is_same_kernel && is_same_pair(b.place, b.other);
  }
}

void addFinding(FoundRun &run, FoundFinding f) {
  const auto known =
      std::ranges::find_if(run.findings, [&](const FoundFinding &k) { return isSame(k, f); });
  if (known == run.findings.end()) return run.findings.push_back(std::move(f));
  known->raw.count += f.raw.count;
  known->ranks.merge(f.ranks);
}

void readFile(const FindingFile &file, const std::string &stem, codeobj::HostLines &lines,
              FoundRun &run) {
  CodeObjects objects(stem);
  std::vector<Finding> all;
  for (uint32_t i = 0; i < file.count(); ++i)
    if (const Finding raw = file.finding(i); raw.check < static_cast<uint32_t>(Check::count) &&
                                             raw.problem < static_cast<uint32_t>(Problem::count))
      all.push_back(raw);
  // They come as workers find them. Of those that are one, the lowest is shown.
  std::ranges::sort(all, [](const Finding &a, const Finding &b) {
    const auto order = [](const Finding &f) {
      return std::tuple(f.dispatch, f.allocation.number, f.address, f.place.address,
                        f.other.address);
    };
    return order(a) < order(b);
  });
  std::vector<FoundFinding> found;
  for (const Finding &raw : all) {
    FoundFinding f = findingOf(raw, file, objects, lines);
    if (static_cast<Problem>(raw.problem) == Problem::lost_update && !isLostUpdate(f, objects))
      continue;
    if (static_cast<Problem>(raw.problem) == Problem::half_wave && isMeantForWaves(f)) continue;
    if (static_cast<Check>(raw.check) == Check::nan && raw.limit != 0) {
      const std::string function = mathFunction(f.place);
      if (function.empty()) continue; // the program's own constant
      f.rule = "returned by " + function;
    }
    found.push_back(std::move(f));
  }
  readSpans(file, objects, lines, found);
  for (FoundFinding &f : found) {
    addFinding(run, std::move(f));
  }
}

/// What the application allocated on the device, and still has. Allocations of one line are one
/// finding.
///
/// A runtime also allocates for itself while it serves the first call of an application. The last
/// allocation that a function made is the application's, so that is the way through the runtime by
/// which the application's are known.
void readLeaks(const FindingFile &file, codeobj::HostLines &lines, FoundRun &run) {
  const auto is_applications = [&](const AllocationInfo &raw) {
    return std::ranges::any_of(file.header().ways, [&](const LastWay &way) {
      return raw.api != 0 && way.api == raw.api && way.path == raw.path;
    });
  };
  std::map<std::pair<std::string, uint64_t>, FoundFinding> by_caller;
  for (uint32_t i = 0; i < file.allocations(); ++i) {
    const AllocationInfo raw = file.allocation(i);
    if (raw.number == 0 || raw.on_host || !is_applications(raw)) continue;
    FoundAllocation found = describeAllocation(raw, file, lines);
    if (found.api.starts_with("hipMalloc") && found.api.ends_with("Async")) continue; // a pool's
    const bool has_line = found.caller.line != 0;
    const auto [at, is_new] = by_caller.try_emplace({has_line ? found.caller.file : found.module,
                                                     has_line ? found.caller.line : found.address});
    FoundFinding &f = at->second;
    if (is_new || raw.number < f.allocation.raw.number) f.allocation = std::move(found);
    f.process = file.header().pid;
    addRank(f, file);
    f.raw.check = static_cast<uint32_t>(Check::leak);
    f.raw.problem = static_cast<uint32_t>(Problem::leak);
    f.raw.count += 1;
    f.raw.limit += raw.size;
  }
  for (auto &[caller, f] : by_caller) run.findings.push_back(std::move(f));
}

/// As compilers do: by file and line, whatever ran first.
void sortFindings(std::vector<FoundFinding> &findings) {
  const auto order = [](const FoundFinding &f) {
    const auto at = [](const FoundPlace &p) {
      return std::tuple(p.shown.file, p.shown.line, p.shown.column, p.raw.kind, p.raw.address);
    };
    return std::tuple(f.raw.check, at(f.place), f.kernel, at(f.other), f.other_kernel,
                      f.raw.problem, f.raw.allocation.number, f.raw.address);
  };
  std::ranges::sort(
      findings, [&](const FoundFinding &a, const FoundFinding &b) { return order(a) < order(b); });
}

} // namespace

FoundRun readFindings(const std::string &folder, bool with_leaks) {
  FoundRun run;
  codeobj::HostLines lines;
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".findings") paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const std::string &path : paths) {
    const auto file = FindingFile::open(path);
    if (!file) {
      ++run.unreadable;
      continue;
    }
    ++run.processes;
    run.dispatches += file->header().dispatches;
    run.left_out += file->header().left_out;
    run.lost += file->header().lost;
    run.inexact |= file->header().inexact;
    if (file->header().observer_version) run.observer_version = file->header().observer_version;
    const std::size_t first = run.findings.size();
    readFile(*file, fs::path(path).replace_extension().string(), lines, run);
    if (with_leaks) readLeaks(*file, lines, run);
    for (std::size_t i = first; i < run.findings.size(); ++i)
      run.findings[i].inexact = file->header().inexact;
  }
  sortFindings(run.findings);
  return run;
}

void mergeFindings(FoundRun &all, FoundRun other) {
  all.dispatches += other.dispatches;
  all.left_out += other.left_out;
  all.lost += other.lost;
  all.inexact |= other.inexact;
  if (other.observer_version) all.observer_version = other.observer_version;
  all.processes += other.processes;
  all.unreadable += other.unreadable;
  for (FoundFinding &f : other.findings) addFinding(all, std::move(f));
  sortFindings(all.findings);
}

} // namespace fade::cli
