#include "check/causes.h"

#include "fade/observer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

namespace fade::cli {
namespace {

using namespace fade::checks;

Check checkOf(const FoundFinding &f) { return static_cast<Check>(f.raw.check); }
Problem problemOf(const FoundFinding &f) { return static_cast<Problem>(f.raw.problem); }

/// A line of the source; of code without lines, the instruction.
using Line = std::tuple<std::string, uint64_t>;
Line lineOf(const FoundPlace &place) {
  if (place.shown.line != 0) return {place.shown.file, place.shown.line};
  return {"", place.raw.code != 0 ? place.raw.address : place.raw.pc};
}

/// What memory is meant: where it was allocated, LDS, or private memory.
std::string memoryOf(const FoundFinding &f) {
  if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds) return "lds";
  if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::scratch) return "scratch";
  const FoundAllocation &a = f.allocation;
  if (a.raw.number == 0) return "";
  if (a.caller.line != 0)
    return a.caller.file + ':' + std::to_string(a.caller.line) + ':' +
           std::to_string(a.caller.column);
  return a.module + '+' + std::to_string(a.address);
}

/// Kernels of both sides, in whatever order.
std::pair<std::string, std::string> kernelsOf(const FoundFinding &f) {
  const std::string one = templateName(f.kernel);
  const std::string other = f.other_kernel.empty() ? one : templateName(f.other_kernel);
  return std::minmax(one, other);
}

bool hasSameMemory(const FoundFinding &a, const FoundFinding &b) {
  if (problemOf(a) == Problem::array_bounds && a.rule != b.rule) return false;
  if (problemOf(a) != problemOf(b) || (a.raw.distance < 0) != (b.raw.distance < 0)) return false;
  const std::string memory = memoryOf(a);
  return memory.empty() ? lineOf(a.place) == lineOf(b.place) : memory == memoryOf(b);
}

bool sharesLine(const FoundFinding &a, const FoundFinding &b) {
  const auto sides = [](const FoundFinding &f) {
    return std::array{lineOf(f.place), lineOf(f.other)};
  };
  for (const Line &x : sides(a))
    for (const Line &y : sides(b))
      if (x == y) return true;
  return false;
}

/// One fence at one atomic would order both.
bool lacksSameFence(const FoundFinding &a, const FoundFinding &b) {
  return a.raw.lacks != static_cast<uint32_t>(Between::nothing) && a.raw.lacks == b.raw.lacks &&
         a.between.shown.line != 0 && lineOf(a.between) == lineOf(b.between);
}

/// Stores that race with themselves, in one allocation: work-items use memory as if each of them
/// had its own.
bool sharesTemporaries(const FoundFinding &a, const FoundFinding &b) {
  const auto isOwnRival = [](const FoundFinding &f) {
    return problemOf(f) == Problem::race && lineOf(f.place) == lineOf(f.other) &&
           static_cast<AccessKind>(f.raw.place.kind) == AccessKind::store &&
           static_cast<AccessKind>(f.raw.other.kind) == AccessKind::store;
  };
  return isOwnRival(a) && isOwnRival(b) && a.allocation.raw.number != 0 &&
         memoryOf(a) == memoryOf(b);
}

/// Races within workgroups between neighboring lines and other neighboring lines: one barrier
/// orders them all.
bool lacksSameBarrier(const FoundFinding &a, const FoundFinding &b) {
  const auto isWithinGroup = [](const FoundFinding &f) {
    return problemOf(f) == Problem::race && f.path != FoundFinding::Path::unknown &&
           std::ranges::equal(f.raw.place.group, f.raw.other.group);
  };
  const auto areNeighbors = [](const FoundPlace &x, const FoundPlace &y) {
    constexpr uint32_t most = 2; // lines
    const auto [low, high] = std::minmax(x.shown.line, y.shown.line);
    return low != 0 && high - low <= most && x.shown.file == y.shown.file &&
           x.raw.kind == y.raw.kind;
  };
  return isWithinGroup(a) && isWithinGroup(b) && a.path == b.path && a.kernel == b.kernel &&
         areNeighbors(a.place, b.place) && areNeighbors(a.other, b.other);
}

/// Launches of different streams that meet in one allocation, with a line in common: they lack an
/// order with the same launch, whatever kernels the others are.
bool lacksSameOrder(const FoundFinding &a, const FoundFinding &b) {
  return problemOf(a) == Problem::overlap && problemOf(b) == Problem::overlap &&
         !memoryOf(a).empty() && memoryOf(a) == memoryOf(b) && sharesLine(a, b);
}

/// Of a shuffle. The others are of a barrier, which lanes or whole waves miss.
bool isOfLanes(const FoundFinding &f) { return problemOf(f) == Problem::inactive_lane; }

/// Barriers behind one early return, or inside of one condition: the same work-items miss them.
bool lacksSameItems(const FoundFinding &a, const FoundFinding &b) {
  const Place &x = a.raw.place, &y = b.raw.place;
  return problemOf(a) == Problem::divergent_barrier && problemOf(b) == Problem::divergent_barrier &&
         a.kernel == b.kernel && a.raw.dispatch == b.raw.dispatch && a.raw.waves == b.raw.waves &&
         a.raw.limit == b.raw.limit && std::ranges::equal(x.item, y.item) &&
         std::ranges::equal(x.group, y.group);
}

/// Barriers that waves miss which ended in one place.
bool endsAtSameLine(const FoundFinding &a, const FoundFinding &b) {
  return problemOf(a) == Problem::missing_waves && problemOf(b) == Problem::missing_waves &&
         lineOf(a.other) == lineOf(b.other);
}

bool hasSameCause(const FoundFinding &a, const FoundFinding &b) {
  if (a.raw.called_by[0].module != 0 || b.raw.called_by[0].module != 0) return false;
  if (a.raw.check != b.raw.check || a.gpu != b.gpu || a.process != b.process) return false;
  switch (checkOf(a)) {
  case Check::memory: return kernelsOf(a) == kernelsOf(b) && hasSameMemory(a, b);
  case Check::init: // compilers tell values apart that somebody stored together
    return kernelsOf(a) == kernelsOf(b) &&
           (memoryOf(a) == memoryOf(b) || lineOf(a.place) == lineOf(b.place));
  case Check::wave:
  case Check::race:
    if (lacksSameOrder(a, b)) return true;
    return kernelsOf(a) == kernelsOf(b) && a.raw.space == b.raw.space &&
           (problemOf(a) == Problem::overlap) == (problemOf(b) == Problem::overlap) &&
           (sharesLine(a, b) || lacksSameFence(a, b) || lacksSameBarrier(a, b) ||
            sharesTemporaries(a, b));
  case Check::sync:
    return kernelsOf(a) == kernelsOf(b) && isOfLanes(a) == isOfLanes(b) &&
           (lineOf(a.place) == lineOf(b.place) || lacksSameItems(a, b) || endsAtSameLine(a, b));
  case Check::wait: // one wait is missing for all that was loaded, or is used, in one place
    return kernelsOf(a) == kernelsOf(b) && a.raw.waves == b.raw.waves && sharesLine(a, b);
  case Check::nan:
  case Check::precision: return kernelsOf(a) == kernelsOf(b) && lineOf(a.place) == lineOf(b.place);
  case Check::hang: return a.raw.dispatch == b.raw.dispatch && a.kernel == b.kernel;
  default: return false; // assembly has several hazards in one line; leaks are one for each line
  }
}

bool isBeyond(const FoundFinding &f) {
  return problemOf(f) == Problem::gap || problemOf(f) == Problem::outside ||
         problemOf(f) == Problem::lds_bounds || problemOf(f) == Problem::array_bounds;
}

/// Whether `f` is what becomes of an access out of bounds.
bool followsFrom(const FoundFinding &f, const FoundFinding &overflow) {
  if (!isBeyond(overflow) || f.gpu != overflow.gpu || f.process != overflow.process) return false;
  const bool reads = static_cast<AccessKind>(overflow.raw.place.kind) == AccessKind::load;
  if (reads) return false;
  const auto [one, other] = kernelsOf(f);
  const std::string kernel = templateName(overflow.kernel);
  if (kernel != one && kernel != other) return false;
  const bool in_lds = static_cast<AccessSpace>(overflow.raw.space) == AccessSpace::lds;
  if (checkOf(f) == Check::init) return in_lds && memoryOf(f) == "lds";
  if (checkOf(f) != Check::race || in_lds) return false;
  return lineOf(f.place) == lineOf(overflow.place) || lineOf(f.other) == lineOf(overflow.place);
}

/// Whether `f` is an access so far beyond that it is near no allocation, of a line that also goes
/// beyond one.
bool straysFrom(const FoundFinding &f, const FoundFinding &overflow) {
  return problemOf(f) == Problem::outside && problemOf(overflow) == Problem::gap &&
         f.gpu == overflow.gpu && f.process == overflow.process &&
         kernelsOf(f) == kernelsOf(overflow) && lineOf(f.place) == lineOf(overflow.place);
}

/// Memory of a pool that one stream uses and another allocates or frees: for want of one wait it is
/// too early for both, and what the second stream's kernels do there races.
bool lacksWaitOfPool(const FoundFinding &f, const FoundFinding &early) {
  const auto is_early = [](const FoundFinding &one) {
    return problemOf(one) == Problem::used_early || problemOf(one) == Problem::freed_early;
  };
  const AllocationInfo &memory = early.allocation.raw;
  if (!is_early(early) || f.gpu != early.gpu || f.process != early.process || memory.number == 0)
    return false;
  if (early.raw.called_by[0].module != 0 || f.raw.called_by[0].module != 0) return false; // a copy
  const bool is_race = problemOf(f) == Problem::overlap || problemOf(f) == Problem::copy_overlap;
  if (!is_early(f) && !is_race) return false;
  if (f.raw.address - memory.base >= memory.size) return false;
  return lineOf(f.place) == lineOf(early.place) ||
         (problemOf(f) == Problem::overlap && lineOf(f.other) == lineOf(early.place));
}

/// What is not written yet when a kernel comes too early: chance decides whether it is.
bool comesTooEarly(const FoundFinding &f, const FoundFinding &order) {
  const auto lacks_order = [](const FoundFinding &one) {
    return problemOf(one) == Problem::used_early || problemOf(one) == Problem::overlap ||
           problemOf(one) == Problem::copy_overlap;
  };
  return checkOf(f) == Check::init && lacks_order(order) && f.gpu == order.gpu &&
         f.process == order.process && !memoryOf(f).empty() && memoryOf(f) == memoryOf(order) &&
         (lineOf(f.place) == lineOf(order.place) || lineOf(f.place) == lineOf(order.other));
}

/// The access that is near an allocation tells which one is meant, and a missing order why nothing
/// was written.
void showCause(FoundFinding &f) {
  const bool is_far = problemOf(f) == Problem::outside, is_early = checkOf(f) == Check::init;
  const auto tells = [&](const FoundFinding &one) {
    return is_far ? problemOf(one) == Problem::gap : comesTooEarly(f, one);
  };
  if (!is_far && !is_early) return;
  const auto cause = std::ranges::find_if(f.details, tells);
  if (cause == f.details.end()) return;
  FoundFinding shown = std::move(*cause);
  f.details.erase(cause);
  shown.details = std::exchange(f.details, {});
  shown.details.insert(shown.details.begin(), std::move(f));
  f = std::move(shown);
}

/// Sets that are put together one pair at a time.
class Sets {
public:
  explicit Sets(std::size_t count) : first_(count) { std::iota(first_.begin(), first_.end(), 0); }
  std::size_t of(std::size_t i) {
    while (first_[i] != i) i = first_[i] = first_[first_[i]];
    return i;
  }
  /// What comes first stands for all.
  void join(std::size_t a, std::size_t b) {
    const auto [low, high] = std::minmax(of(a), of(b));
    first_[high] = low;
  }

private:
  std::vector<std::size_t> first_;
};

} // namespace

std::string templateName(const std::string &kernel) {
  // "void ns::scale<float>(float*, int)": up to the first parenthesis or angle bracket that is
  // not of "operator()" or "(anonymous namespace)", without what stands before the name.
  std::string name;
  unsigned depth = 0;
  static const std::string anonymous = "(anonymous namespace)";
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (depth == 0 && kernel.compare(i, anonymous.size(), anonymous) == 0) {
      name += anonymous;
      i += anonymous.size() - 1;
    } else if (kernel[i] == '<' && !name.ends_with("operator")) {
      ++depth;
    } else if (kernel[i] == '>' && depth != 0) {
      --depth;
    } else if (depth == 0 && kernel[i] == '(' && !name.ends_with("operator")) {
      break;
    } else if (depth == 0) {
      name += kernel[i];
    }
  }
  const auto space = name.find(' ');
  const bool has_type = space != name.npos && name.compare(0, anonymous.size(), anonymous) != 0;
  return has_type ? name.substr(space + 1) : name;
}

void groupByCause(std::vector<FoundFinding> &findings) {
  const std::size_t count = findings.size();
  Sets sets(count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = i + 1; k < count; ++k)
      if (hasSameCause(findings[i], findings[k]) || followsFrom(findings[k], findings[i]) ||
          followsFrom(findings[i], findings[k]) || straysFrom(findings[i], findings[k]) ||
          straysFrom(findings[k], findings[i]) || lacksWaitOfPool(findings[k], findings[i]) ||
          lacksWaitOfPool(findings[i], findings[k]) || comesTooEarly(findings[k], findings[i]) ||
          comesTooEarly(findings[i], findings[k]))
        sets.join(i, k);
  // Errors of memory come first in the list, so what follows from one is behind it.
  std::vector<FoundFinding> grouped;
  std::vector<std::size_t> place(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = sets.of(i);
    if (first == i) {
      place[i] = grouped.size();
      grouped.push_back(std::move(findings[i]));
    } else {
      grouped[place[first]].details.push_back(std::move(findings[i]));
    }
  }
  for (FoundFinding &f : grouped) showCause(f);
  findings = std::move(grouped);
}

} // namespace fade::cli
