// Private memory that nobody wrote, and calls that are not inlined.
#include "checks/call_stacks.h"
#include "checks/private_shadow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace fade::checks {
namespace {

class Stack {
public:
  PrivateShadow shadow;
  explicit Stack(uint32_t bytes) { shadow.begin(bytes); }
  /// Lanes 0, 1, 2 and so on, each at its own address.
  ObservedAccess at(std::initializer_list<uint64_t> addresses, uint32_t size = 4) {
    std::ranges::copy(addresses, addresses_);
    ObservedAccess access;
    access.lanes = (uint64_t{1} << addresses.size()) - 1;
    access.address = addresses_;
    access.size = size;
    return access;
  }

private:
  uint64_t addresses_[64] = {};
};

TEST(PrivateShadow, AnElementThatALaneNeverWroteIsReported) {
  Stack s(64);
  s.shadow.write(s.at({0, 4, 8}));
  EXPECT_EQ(s.shadow.unwritten(s.at({0, 4, 8})), 0u);
  EXPECT_EQ(s.shadow.unwritten(s.at({0, 8, 8})), 0b010u) << "lane 1 wrote another element";
  EXPECT_EQ(s.shadow.unwritten(s.at({16, 20, 16})), 0b111u);
}

TEST(PrivateShadow, ARegisterThatSomeLanesHaveSpilledMayBeLoadedByAll) {
  Stack s(64);
  EXPECT_EQ(s.shadow.unwritten(s.at({8, 8, 8})), 0u) << "or before anybody has";
  ObservedAccess spill = s.at({8, 8, 8});
  spill.lanes = 0b001;
  s.shadow.write(spill);
  EXPECT_EQ(s.shadow.unwritten(s.at({8, 8, 8})), 0u);
}

TEST(PrivateShadow, OneWrittenByteIsEnoughAndTheNextWaveBeginsAnew) {
  Stack s(64);
  const auto through_a_pointer = [&](uint32_t size) {
    ObservedAccess access = s.at({0}, size);
    access.path = AccessPath::flat;
    return s.shadow.unwritten(access);
  };
  s.shadow.write(s.at({3}, 1));
  EXPECT_EQ(through_a_pointer(4), 0u);
  EXPECT_EQ(through_a_pointer(2), 1u);
  s.shadow.begin(64);
  EXPECT_EQ(through_a_pointer(4), 1u);
}

TEST(PrivateShadow, WhatIsOutsideIsAnotherChecksMatter) {
  Stack s(16);
  s.shadow.write(s.at({~uint64_t{0} - 1, 1000}));
  EXPECT_EQ(s.shadow.unwritten(s.at({~uint64_t{0} - 1, 1000})), 0u);
}

/// Memory with the words of a program.
class Program : public ObservedMemory {
public:
  std::map<uint64_t, uint32_t> words;
  bool find(uint64_t, ObservedRegion &) const override { return false; }
  bool read(uint64_t address, void *to, uint64_t size) const override {
    const auto at = words.find(address);
    if (at == words.end() || size != sizeof at->second) return false;
    std::memcpy(to, &at->second, sizeof at->second);
    return true;
  }
};

TEST(CallStacks, ACallIsRememberedUntilItReturns) {
  constexpr uint32_t swappc_gfx9 = 0xbe9e1e04,
                     setpc_gfx9 = 0xbe801d1e; // s_swappc_b64 s[30:31], s[4:5]
  Program program;
  program.words = {
      {0x100, swappc_gfx9}, {0x200, swappc_gfx9}, {0x300, setpc_gfx9}, {0x210, setpc_gfx9}};
  CallDecoder decoder(program, "gfx90a");
  CallStacks stacks;
  WaveCalls calls;
  calls.begin();
  calls.branch({0x100, 0x200, true, 1}, decoder, stacks);
  const StackId outer = calls.now();
  calls.branch({0x200, 0x300, true, 1}, decoder, stacks);
  uint64_t found[4] = {};
  EXPECT_EQ(stacks.calls(calls.now(), found), 2u);
  EXPECT_EQ(found[0], 0x200u);
  EXPECT_EQ(found[1], 0x100u);
  calls.branch({0x300, 0x204, true, 1}, decoder, stacks);
  EXPECT_EQ(calls.now(), outer);
  calls.branch({0x210, 0x104, true, 1}, decoder, stacks);
  EXPECT_EQ(calls.now(), 0u);
  // The same way again is the same stack.
  calls.branch({0x100, 0x200, true, 1}, decoder, stacks);
  EXPECT_EQ(calls.now(), outer);
}

TEST(CallStacks, MoreStacksThanCanBeToldApartAreThoseOfTheirCallers) {
  CallStacks stacks;
  StackId last = 0;
  for (uint64_t i = 0; i < 200; ++i) last = stacks.within(last, 0x1000 + 4 * i);
  EXPECT_EQ(last, CallStacks::kMost - 1);
  EXPECT_EQ(stacks.within(0, 0x1000), 1u);
}

TEST(CallStacks, ASiteIsAnAddressWithAStack) {
  const uint64_t site = siteOf(0x7fff12345678, 63);
  EXPECT_EQ(addressOf(site), 0x7fff12345678u);
  EXPECT_EQ(stackOf(site), 63u);
}

} // namespace
} // namespace fade::checks
