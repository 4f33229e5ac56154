// The heart of the matter: what the records say is what the original did, byte by byte and lane by
// lane, and the instrumented kernel computes the same.
#include "cases.h"
#include "extent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

namespace {

using namespace fade::test;

std::string describe(const Place &p) {
  std::ostringstream out;
  out << "workgroup " << p.workgroup[0] << "," << p.workgroup[1] << "," << p.workgroup[2]
      << " wave " << p.wave << " line " << p.line
      << (p.kind == Kind::load    ? " load"
          : p.kind == Kind::store ? " store"
                                  : " atomic")
      << (p.space == Space::lds ? " lds" : " global");
  return out.str();
}

// The first few differences, for people.
std::string differences(const Touched &observed, const Touched &recorded) {
  std::ostringstream out;
  unsigned shown = 0;
  auto show = [&](const Place &place, const Bytes &a, const Bytes &b, const char *what) {
    for (const auto &[byte, count] : a) {
      const auto other = b.find(byte);
      const uint32_t there = other == b.end() ? 0 : other->second;
      if (count <= there) continue;
      if (++shown <= 6)
        out << describe(place) << " lane " << byte.first << " byte 0x" << std::hex << byte.second
            << std::dec << ": " << count - there << " more " << what << "\n";
      break;
    }
  };
  static const Bytes none;
  for (const auto &[place, bytes] : observed) {
    const auto other = recorded.find(place);
    show(place, bytes, other == recorded.end() ? none : other->second, "observed");
  }
  for (const auto &[place, bytes] : recorded) {
    const auto other = observed.find(place);
    show(place, bytes, other == observed.end() ? none : other->second, "recorded");
  }
  if (shown > 6) out << "... " << shown << " places differ\n";
  return out.str();
}

// Only what the kernel and the test agree to look at: the buffers of the case and LDS. The rest is
// read-only: kernel arguments, the dispatch packet, constants, code.
Touched onlyData(const Touched &touched, const Data &data) {
  Touched out;
  for (const auto &[place, bytes] : touched)
    for (const auto &[byte, count] : bytes)
      if (place.space == Space::lds || data.contains(byte.second)) out[place][byte] = count;
  return out;
}

// Whether the lane touched a byte of an aligned unit of memory.
bool touchesUnit(const Bytes &bytes, uint32_t lane, uint64_t unit, uint64_t size) {
  const auto next = bytes.lower_bound({lane, unit * size});
  return next != bytes.end() && next->first.first == lane && next->first.second / size == unit;
}

// Drops loads of words that the same lane then changes atomically, and the bytes of these words
// that the operation was not about.
void allowExpanded(Touched &observed, const Touched &recorded) {
  for (auto &[place, bytes] : observed) {
    if (place.kind == Kind::store) continue;
    std::erase_if(bytes, [&](const auto &entry) {
      const auto [lane, address] = entry.first;
      for (const auto &[other, atomics] : recorded)
        if (other.kind == Kind::atomic && other.workgroup == place.workgroup &&
            other.wave == place.wave && touchesUnit(atomics, lane, address / 4, 4) &&
            (place.kind == Kind::load || (other == place && !atomics.contains(entry.first))))
          return true;
      return false;
    });
  }
  std::erase_if(observed, [](const auto &entry) { return entry.second.empty(); });
}

// Drops bytes that only one account has, if the same lane touches others of the same eight.
void allowResized(Touched &observed, Touched &recorded) {
  const Touched before = observed;
  auto drop = [](Touched &account, const Touched &other) {
    for (auto &[place, bytes] : account) {
      const auto there = other.find(place);
      if (place.kind == Kind::atomic || there == other.end()) continue;
      std::erase_if(bytes, [&](const auto &entry) {
        const auto [lane, address] = entry.first;
        return !there->second.contains(entry.first) &&
               touchesUnit(there->second, lane, address / 8, 8);
      });
    }
  };
  drop(observed, recorded);
  drop(recorded, before);
}

// Makes two accounts comparable where the compiler takes liberties.
void allow(unsigned liberties, Touched &observed, Touched &recorded) {
  if (liberties & (overlapping | repeated))
    for (auto *account : {&observed, &recorded})
      for (auto &[place, bytes] : *account)
        for (auto &[byte, count] : bytes) count = 1;
  if (liberties & expanded) allowExpanded(observed, recorded);
  if (liberties & resized) allowResized(observed, recorded);
  if (liberties & combined) {
    for (auto &[place, bytes] : recorded) {
      if (place.kind != Kind::atomic) continue;
      // The byte must have been touched by some lane of the wave; which one does not matter.
      std::set<uint64_t> touched;
      for (const auto &[byte, count] : observed[place]) touched.insert(byte.second);
      std::erase_if(bytes, [&](const auto &entry) {
        return touched.contains(entry.first.second) && !observed[place].contains(entry.first);
      });
      for (auto &[byte, count] : bytes)
        if (observed[place].contains(byte)) count = observed[place][byte];
    }
  }
}

// Where the compiler has made one access of several lines, it has one line or none: the lines on
// which the accounts differ are taken together, for each wave, direction and space.
Touched withMergedLines(const Touched &account, const std::set<Place> &differ) {
  Touched out;
  for (const auto &[where, bytes] : account) {
    Place place = where;
    if (differ.contains(where)) place.line = 0;
    for (const auto &[byte, count] : bytes) out[place][byte] += count;
  }
  return out;
}

void mergeLines(Touched &observed, Touched &recorded) {
  std::set<Place> differ;
  for (const auto &[place, bytes] : observed)
    if (!recorded.contains(place) || recorded[place] != bytes) differ.insert(place);
  for (const auto &[place, bytes] : recorded)
    if (!observed.contains(place) || observed[place] != bytes) differ.insert(place);
  observed = withMergedLines(observed, differ);
  recorded = withMergedLines(recorded, differ);
}

// Objects of another compiler can be tried: they are looked for where FADE_TEST_OBJECTS says.
std::string objects() {
  const char *elsewhere = std::getenv("FADE_TEST_OBJECTS");
  return elsewhere ? elsewhere : KERNELS_DIR;
}

// Kernel, architecture, and how it was compiled: the level of optimisation, or with -O2 the version
// of the code object, or "stripped" if then line tables were removed.
using Parameter = std::tuple<std::string, std::string, std::string>;

class Agreement : public testing::TestWithParam<Parameter> {};

TEST_P(Agreement, RecordsAreWhatTheOriginalDid) {
  const auto &[kernel, arch, level] = GetParam();
  const Case &c = findCase(kernel);
  Session session(arch, objects() + "/run_" + c.file + "_" + arch + "_" + level + ".hsaco");
  Data data(session.device());
  const Arguments arguments = c.arguments(data);

  const Observed observed = session.runOriginal(c.launch, arguments);
  const auto plain = data.contents();
  data.reset();
  const Recorded recorded = session.runTwin(c.launch, arguments);
  EXPECT_EQ(plain, data.contents()) << "the instrumented kernel computed something else";
  auto did = onlyData(observed.touched, data);
  auto said = onlyData(recorded.touched, data);
  if (level == "stripped") {
    for (const auto &[place, bytes] : said) EXPECT_NE(place.line, 0u);
    did = withoutLines(did), said = withoutLines(said);
  }
  // From -O1 on, the loops that atomics become are in the twin, too.
  allow(level == "O0" ? c.liberties : c.liberties & ~expanded, did, said);
  if ((c.liberties & merged && level != "O0") || c.liberties & unlined) mergeLines(did, said);
  EXPECT_EQ(differences(did, said), "");
}

std::vector<Parameter> parameters() {
  auto wants = [](const std::vector<std::string> &list, const std::string &item) {
    return list.empty() || std::ranges::find(list, item) != list.end();
  };
  std::vector<Parameter> out;
  for (const Case &c : allCases())
    for (const std::string arch : {"gfx90a", "gfx942", "gfx1030", "gfx1100"})
      for (const std::string level : {"O0", "O1", "O2", "O3"}) {
        const bool first_of_kind = arch == "gfx90a" || arch == "gfx1030";
        if (level == "O0" && !first_of_kind && !fade::extent::is_long) continue;
        if ((level == "O1" || level == "O3") && !(first_of_kind && fade::extent::is_long)) continue;
        if (wants(c.archs, arch) && wants(c.levels, level)) out.emplace_back(c.name, arch, level);
      }
  for (const Case &c : strangeCases())
    for (const std::string arch : {"gfx90a", "gfx1030"})
      for (const char *kind : {"v5", "v6", "stripped"})
        if (c.file == "strange") out.emplace_back(c.name, arch, kind);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Agreement, testing::ValuesIn(parameters()), [](const auto &info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" + std::get<2>(info.param);
});

} // namespace
