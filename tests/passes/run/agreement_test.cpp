// The heart of the matter: what the records say is what the original did, byte by byte and lane by
// lane, and the instrumented kernel computes the same.
#include "cases.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// Makes two accounts comparable where the compiler takes liberties.
void allow(unsigned liberties, Touched &observed, Touched &recorded) {
  if (liberties & overlapping)
    for (auto *account : {&observed, &recorded})
      for (auto &[place, bytes] : *account)
        for (auto &[byte, count] : bytes) count = 1;
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

using Parameter = std::tuple<std::string, std::string, std::string>; // kernel, arch, optimisation

class Agreement : public testing::TestWithParam<Parameter> {};

TEST_P(Agreement, RecordsAreWhatTheOriginalDid) {
  const auto &[kernel, arch, level] = GetParam();
  const Case &c = basicCase(kernel);
  Session session(arch, KERNELS_DIR "/run_basic_" + arch + "_" + level + ".hsaco");
  Data data(session.device());
  const Arguments arguments = c.arguments(data);

  const Observed observed = session.runOriginal(c.launch, arguments);
  const auto plain = data.contents();
  data.reset();
  const Recorded recorded = session.runTwin(c.launch, arguments);
  EXPECT_EQ(plain, data.contents()) << "the instrumented kernel computed something else";
  auto did = withoutLines(onlyData(observed.touched, data));
  auto said = withoutLines(onlyData(recorded.touched, data));
  allow(c.liberties, did, said);
  EXPECT_EQ(differences(did, said), "");
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> out;
  for (const Case &c : basicCases())
    for (const char *arch : {"gfx90a", "gfx1030"})
      for (const char *level : {"O0", "O1", "O2", "O3"}) {
        // Known defect: at -O0 a virtual call gives one byte more than was read. docs/instrumentation.md says so.
        if (c.name == "virtuals" && level == std::string("O0")) continue;
        out.emplace_back(c.name, arch, level);
      }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Agreement, testing::ValuesIn(parameters()), [](const auto &info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" + std::get<2>(info.param);
});

} // namespace
