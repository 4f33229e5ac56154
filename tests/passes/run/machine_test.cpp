// What MemoryAnalysis judges is what the machine does: for each line of source, the records of the
// twin give the same cache lines and the same LDS conflicts as the accesses that the software GPU
// sees the original make.
#include "cases.h"
#include "extent.h"
#include "memory_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace {

using namespace fade::test;
using fade::handlers::WaveAccess;

struct Judged {
  uint64_t lines = 0, conflicts = 0;
  bool operator==(const Judged &) const = default;
};
using Key = std::tuple<uint32_t, Kind, Space>;
using ByLine = std::map<Key, Judged>;

std::string describe(const Key &key, const Judged &machine, const Judged &twin) {
  const auto &[line, kind, space] = key;
  std::ostringstream out;
  out << "line " << line
      << (kind == Kind::load    ? " load"
          : kind == Kind::store ? " store"
                                : " atomic")
      << (space == Space::lds ? " lds" : " global") << ": machine " << machine.lines << " lines "
      << machine.conflicts << " conflicts, records " << twin.lines << " lines " << twin.conflicts
      << " conflicts\n";
  return out.str();
}

ByLine judge(const std::vector<Execution> &executions, const Data &data,
             const fade::handlers::MemoryModel &model) {
  ByLine out;
  fade::handlers::DistinctCounter distinct;
  for (const Execution &one : executions) {
    if (one.is_scalar) continue; // neither of the two is about the scalar unit
    WaveAccess access;
    for (uint32_t lane = 0; lane < 64; ++lane) {
      access.addresses[lane] = one.addresses[lane];
      if (one.mask >> lane & 1 &&
          (one.place.space == Space::lds || data.contains(one.addresses[lane])))
        access.mask |= uint64_t{1} << lane;
    }
    if (access.mask == 0) continue;
    Judged &sum = out[{one.place.line, one.place.kind, one.place.space}];
    if (one.place.space == Space::lds)
      sum.conflicts +=
          ldsConflicts(access, static_cast<uint32_t>(std::max<uint64_t>(one.size, 1)), model.banks);
    else
      sum.lines += linesOfPieces(access, one.size, model.line, distinct).used;
  }
  return out;
}

// Where the two accounts may differ, and why. What is not listed here must be equal.
enum class Difference {
  // The compiler makes one access of two lines, or moves it to another line: sums over all lines
  // are equal.
  other_line,
  // An atomic that the GPU does not have is a loop of compare and swap, with a load before it.
  load_before_swap,
  // Copies and fills whose length is known at run time are loops, byte by byte or dword by dword,
  // without a line.
  loop_without_line,
  // Instruction selection makes one store of a copy and a fill side by side.
  merged_copies,
};
const std::map<std::string, Difference> kKnown = {
    {"raw_buffers", Difference::other_line},
    {"small_fields", Difference::other_line},
    {"packed_fields", Difference::other_line},
    {"float_atomics", Difference::load_before_swap},
    {"atomic_kinds", Difference::load_before_swap},
    {"lds_swaps", Difference::load_before_swap},
    {"narrow_atomics", Difference::load_before_swap},
    {"copies", Difference::loop_without_line},
    {"fills", Difference::loop_without_line},
    {"moves", Difference::loop_without_line},
    {"constant_copies", Difference::merged_copies},
};

ByLine withoutLines(const ByLine &account) {
  ByLine out;
  for (const auto &[key, sum] : account) {
    Judged &all = out[{0, std::get<1>(key), std::get<2>(key)}];
    all.lines += sum.lines;
    all.conflicts += sum.conflicts;
  }
  return out;
}

// Without loads that the records do not have, where there are atomics in the same memory. The line
// of the load may be another one than that of the atomic.
ByLine withoutLoadsBeforeSwaps(const ByLine &machine, const ByLine &twin) {
  std::set<Space> with_atomics;
  for (const auto &[key, sum] : twin)
    if (std::get<1>(key) == Kind::atomic) with_atomics.insert(std::get<2>(key));
  ByLine out = machine;
  std::erase_if(out, [&](const auto &entry) {
    const auto there = twin.find(entry.first);
    return std::get<1>(entry.first) == Kind::load &&
           with_atomics.contains(std::get<2>(entry.first)) &&
           (there == twin.end() || there->second == Judged{});
  });
  return out;
}

// Objects of another compiler, or of other levels, can be tried: FADE_TEST_OBJECTS says where.
const char *elsewhere() { return std::getenv("FADE_TEST_OBJECTS"); }

using Parameter = std::tuple<std::string, std::string, std::string>;
class MachineView : public testing::TestWithParam<Parameter> {};

TEST_P(MachineView, LinesAndConflictsOfEachLineAreTheMachines) {
  const auto &[kernel, arch, level] = GetParam();
  const Case &c = findCase(kernel);
  Session session(arch, std::string(elsewhere() ? elsewhere() : KERNELS_DIR) + "/run_" + c.file +
                            "_" + arch + "_" + level + ".hsaco");
  Data data(session.device());
  const Arguments arguments = c.arguments(data);
  const auto model = fade::handlers::MemoryModel::of(arch);
  const Observed observed = session.runOriginal(c.launch, arguments);
  data.reset();
  const Recorded recorded = session.runTwin(c.launch, arguments);
  ByLine machine = judge(observed.executions, data, model);
  ByLine twin = judge(recorded.executions, data, model);
  if (const auto known = kKnown.find(kernel); known != kKnown.end()) {
    switch (known->second) {
    case Difference::other_line: machine = withoutLines(machine), twin = withoutLines(twin); break;
    case Difference::load_before_swap: machine = withoutLoadsBeforeSwaps(machine, twin); break;
    case Difference::loop_without_line:
    case Difference::merged_copies:
      EXPECT_NE(machine, twin) << "there is no difference any more: take it off the list";
      return;
    }
  }
  std::string difference;
  std::set<Key> keys;
  for (const auto &[key, sum] : machine) keys.insert(key);
  for (const auto &[key, sum] : twin) keys.insert(key);
  for (const Key &key : keys) {
    const auto a = machine.find(key), b = twin.find(key);
    const Judged x = a == machine.end() ? Judged{} : a->second;
    const Judged y = b == twin.end() ? Judged{} : b->second;
    if (x != y) difference += describe(key, x, y);
  }
  EXPECT_EQ(difference, "");
}

std::vector<Parameter> parameters() {
  const auto wants = [](const std::vector<std::string> &list, const std::string &item) {
    return list.empty() || std::ranges::find(list, item) != list.end();
  };
  std::vector<Parameter> out;
  for (const Case &c : allCases())
    for (const std::string arch : {"gfx90a", "gfx942", "gfx1030", "gfx1100"})
      for (const std::string level : {"O1", "O2", "O3"}) {
        const bool is_long = level != "O2";
        if (is_long && !fade::extent::is_long && !elsewhere()) continue;
        if (wants(c.archs, arch) && wants(c.levels, level)) out.emplace_back(c.name, arch, level);
      }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Kernels, MachineView, testing::ValuesIn(parameters()),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" +
                                  std::get<2>(info.param);
                         });

} // namespace
