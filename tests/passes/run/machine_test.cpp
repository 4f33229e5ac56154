// What MemoryAnalysis judges is what the machine does: for each line of source, the records of the
// twin give the same cache lines and the same LDS conflicts as the accesses that the software GPU
// sees the original make.
#include "cases.h"
#include "coalescing_and_bank_conflicts.h"
#include "codeobj/machine_check.h"
#include "extent.h"

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
  bool shares_line = false; // some of it may be of another line
  bool operator==(const Judged &other) const {
    return lines == other.lines && conflicts == other.conflicts;
  }
  void add(const Judged &other) { lines += other.lines, conflicts += other.conflicts; }
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
    sum.shares_line = sum.shares_line || one.shares_line;
    if (one.place.space == Space::lds)
      sum.conflicts += ldsConflicts(access, static_cast<uint32_t>(std::max<uint64_t>(one.size, 1)),
                                    model.banks, fade::handlers::SameDword::shared, one.widest);
    else
      sum.lines += linesOfPieces(access, one.size, model.line, distinct, one.widest).used;
  }
  return out;
}

// Where the two accounts may differ, and why. What is not listed here must be equal.
enum class Difference {
  // The compiler makes one access of two lines, or moves it to another line: sums over all lines
  // are equal.
  other_line,
  // Copies and fills whose length is known at run time are loops, byte by byte or dword by dword,
  // without a line.
  loop_without_line,
  // Instruction selection makes one store of a copy and a fill side by side.
  merged_copies,
  // Instruction selection loads only the part of a value that is used; reports say it at the line.
  narrowed,
};
const std::map<std::string, Difference> kKnown = {
    {"raw_buffers", Difference::other_line},        {"small_fields", Difference::other_line},
    {"packed_fields", Difference::other_line},      {"copies", Difference::loop_without_line},
    {"fills", Difference::loop_without_line},       {"moves", Difference::loop_without_line},
    {"constant_copies", Difference::merged_copies}, {"lds_swaps", Difference::narrowed},
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

// All lines on which they differ. Records know the line that each access was written on. The line
// table has one line for all instructions of a clause and for both addresses of ds_read2_b32: what
// the machine does too much on such a line is missing on another.
std::string differences(const ByLine &machine, const ByLine &twin) {
  std::set<Key> keys;
  for (const auto &[key, sum] : machine) keys.insert(key);
  for (const auto &[key, sum] : twin) keys.insert(key);
  struct Both {
    Judged machine, twin;
    bool is_shared = true; // all that the machine has too much may be of another line
    std::string text;
  };
  std::map<std::pair<Kind, Space>, Both> kinds;
  for (const Key &key : keys) {
    const auto a = machine.find(key), b = twin.find(key);
    const Judged x = a == machine.end() ? Judged{} : a->second;
    const Judged y = b == twin.end() ? Judged{} : b->second;
    if (x == y) continue;
    Both &both = kinds[{std::get<1>(key), std::get<2>(key)}];
    both.machine.add(x), both.twin.add(y);
    const bool is_more = x.lines > y.lines || x.conflicts > y.conflicts;
    both.is_shared = both.is_shared && (x.shares_line || !is_more);
    both.text += describe(key, x, y);
  }
  std::string text;
  for (const auto &[kind, both] : kinds)
    if (!both.is_shared || both.machine != both.twin) text += both.text;
  return text;
}

// Objects of another compiler, or of other levels, can be tried: FADE_TEST_OBJECTS says where.
const char *elsewhere() { return std::getenv("FADE_TEST_OBJECTS"); }

// As libfade does it when a code object is loaded: the machine code of the originals decides.
std::vector<fade::SiteTable> checkedTables(std::vector<fade::SiteTable> tables,
                                           const std::string &path) {
  const auto blob = fade::codeobj::Blob::mapFile(path);
  if (!blob) throw std::runtime_error(blob.error().message());
  const auto object = fade::codeobj::CodeObject::open(*blob);
  if (!object) throw std::runtime_error(object.error().message());
  for (fade::SiteTable &table : tables)
    if (auto checked = fade::codeobj::checkedByMachine(table, *object)) table = *std::move(checked);
  return tables;
}

// Kernel, processor, level of optimization with the size of waves if it is not the usual one.
using Parameter = std::tuple<std::string, std::string, std::string>;
class MachineView : public testing::TestWithParam<Parameter> {};

TEST_P(MachineView, LinesAndConflictsOfEachLineAreTheMachines) {
  const auto &[kernel, arch, level] = GetParam();
  const Case &c = findCase(kernel);
  const std::string path = std::string(elsewhere() ? elsewhere() : KERNELS_DIR) + "/run_" + c.file +
                           "_" + arch + "_" + level + ".hsaco";
  Session session(arch, path);
  session.setTables(checkedTables(session.tables(), path));
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
    case Difference::loop_without_line:
    case Difference::merged_copies:
    case Difference::narrowed:
      EXPECT_NE(machine, twin) << "there is no difference any more: take it off the list";
      return;
    }
  }
  EXPECT_EQ(differences(machine, twin), "");
}

std::vector<Parameter> parameters() {
  const auto wants = [](const std::vector<std::string> &list, const std::string &item) {
    return list.empty() || std::ranges::find(list, item) != list.end();
  };
  std::vector<Parameter> out;
  for (const auto *cases : {&allCases(), &usualCases()})
    for (const Case &c : *cases)
      for (const std::string arch : {"gfx90a", "gfx942", "gfx1030", "gfx1100"})
        for (const std::string level : {"O1", "O2", "O3", "O1_wave64", "O2_wave64", "O3_wave64"}) {
          const bool is_wave64 = level.ends_with("_wave64");
          if (is_wave64 && !arch.starts_with("gfx1")) continue;
          if (level != "O2" && !fade::extent::is_long && !elsewhere()) continue;
          if (wants(c.archs, arch) && wants(c.levels, level.substr(0, 2)))
            out.emplace_back(c.name, arch, level);
        }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Kernels, MachineView, testing::ValuesIn(parameters()),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" +
                                  std::get<2>(info.param);
                         });

} // namespace
