// --check: what is said of two memories. Captures are written, and "replays" are outcomes made by
// hand.
#include "capture/writer.h"
#include "replay/changed_inputs.h"
#include "replay/comparison.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace fade::replay {
namespace {

namespace fs = std::filesystem;
using capture::kPageSize;
using capture::State;
using Page = std::vector<uint8_t>;

constexpr std::size_t kDevice = 0, kHost = 1;

class Check : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "fade-check-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override {
    memory_ = nullptr;
    reader_ = nullptr;
    fs::remove_all(dir_);
  }

  /// Two pages on the device and one on the host; those after the dispatch are `after`.
  void capture(const Page &first, const Page &second, const Page &host, const Page &after_first,
               const Page &after_second, const Page &after_host) {
    capture::Description d;
    d.gpu = "gfx90a";
    d.symbol = d.kernel = "k";
    d.regions.push_back({0x10000, 2 * kPageSize, capture::RegionKind::pool, false, 1, 0, 0});
    d.regions.push_back({0x20000, kPageSize, capture::RegionKind::pool, true, 0, 0, 0});
    auto writer = capture::Writer::create(dir_, "k");
    ASSERT_TRUE(writer.ok());
    const auto put = [&](State state, std::size_t region, const std::vector<const Page *> &pages) {
      (*writer)->begin(state, region);
      for (const Page *page : pages) ASSERT_TRUE((*writer)->add(*page).ok());
    };
    put(State::before, kDevice, {&first, &second});
    put(State::before, kHost, {&host});
    put(State::after, kDevice, {&after_first, &after_second});
    put(State::after, kHost, {&after_host});
    ASSERT_TRUE((*writer)->finish(d, {}).ok());
    auto reader = capture::Reader::open((*writer)->path());
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    reader_ = std::move(*reader);
    auto memory = Memory::load(*reader_, nullptr);
    ASSERT_TRUE(memory.ok()) << memory.error().message();
    memory_ = std::move(*memory);
  }

  static Outcome wrote(const std::vector<std::pair<PageId, Page>> &pages) {
    Outcome outcome;
    for (const auto &[id, bytes] : pages) outcome.add(id, bytes.data());
    return outcome;
  }
  Comparison compare(const Outcome &tested, const Outcome &first, const Outcome &second,
                     const Tolerance &tolerance = {}) {
    Comparer comparer(*reader_, *memory_, std::nullopt);
    EXPECT_TRUE(comparer.load().ok());
    return comparer.compare(tested, {first, second}, tolerance);
  }
  Comparison compare(const Outcome &all, const Tolerance &tolerance = {}) {
    return compare(all, all, all, tolerance);
  }

  static Page floats(float value) {
    Page page(kPageSize);
    for (std::size_t at = 0; at < kPageSize; at += 4) std::memcpy(&page[at], &value, 4);
    return page;
  }
  static void set(Page &page, std::size_t index, float value) {
    std::memcpy(&page[index * 4], &value, 4);
  }

  std::string dir_;
  std::unique_ptr<capture::Reader> reader_;
  std::unique_ptr<Memory> memory_;
  const Page zero_ = Page(kPageSize, 0);
};

TEST_F(Check, TheSameMemoryIsEqual) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, before, zero_);
  const Comparison c = compare(wrote({{{kDevice, 0}, after}}));
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.pages, 1u);
  EXPECT_EQ(c.differences.size(), 0u);
}

TEST_F(Check, AWrongElementIsFoundWithItsTypePlaceAndError) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, before, zero_);
  Page wrong = after;
  set(wrong, 77, std::nextafter(2.5f, 3.0f));
  set(wrong, 80, 5.0f);
  const Comparison c = compare(wrote({{{kDevice, 0}, wrong}}));
  ASSERT_EQ(c.differences.size(), 1u);
  const RegionDifference &d = c.differences[0];
  EXPECT_FALSE(c.isEqual());
  EXPECT_EQ(d.type, ElementType::f32);
  EXPECT_EQ(d.elements, 2u);
  EXPECT_EQ(d.first, 77u * 4);
  EXPECT_EQ(d.last, 80u * 4);
  EXPECT_DOUBLE_EQ(d.largest_relative, 1.0); // 5 instead of 2.5
  ASSERT_EQ(d.examples.size(), 2u);
  EXPECT_EQ(d.examples[0].expected, std::bit_cast<uint32_t>(2.5f));
}

TEST_F(Check, TolerancesForgiveWhatTheyName) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, before, zero_);
  Page rounded = after;
  set(rounded, 3, std::nextafter(2.5f, 3.0f));
  const Outcome outcome = wrote({{{kDevice, 0}, rounded}});
  EXPECT_FALSE(compare(outcome).isEqual());
  const Comparison by_ulp = compare(outcome, {1, 0});
  EXPECT_TRUE(by_ulp.isEqual());
  EXPECT_EQ(by_ulp.differences.at(0).within_tolerance, 1u);
  EXPECT_TRUE(compare(outcome, {0, 1e-6}).isEqual());
  EXPECT_FALSE(compare(outcome, {0, 1e-9}).isEqual());
}

TEST_F(Check, AnAbsoluteToleranceForgivesWhatIsNearZero) {
  const Page before = floats(1);
  Page after = floats(2.5f);
  set(after, 3, 0.0f); // a sum that cancels
  capture(before, before, zero_, after, before, zero_);
  Page near = after;
  set(near, 3, 1e-7f);
  const Outcome outcome = wrote({{{kDevice, 0}, near}});
  EXPECT_FALSE(compare(outcome, {0, 1e-2, 0}).isEqual());
  EXPECT_TRUE(compare(outcome, {0, 0, 1e-6}).isEqual());
  EXPECT_FALSE(compare(outcome, {0, 0, 1e-8}).isEqual());
  // Both together: abs + rel * |expected|, as numpy.allclose() has it.
  set(near, 4, 2.5f + 0.03f);
  const Outcome both = wrote({{{kDevice, 0}, near}});
  EXPECT_FALSE(compare(both, {0, 1e-2, 1e-6}).isEqual());
  EXPECT_TRUE(compare(both, {0, 1e-2, 6e-3}).isEqual());
  EXPECT_DOUBLE_EQ(compare(both).differences.at(0).largest_absolute,
                   static_cast<double>(2.5f + 0.03f) - 2.5);
}

TEST_F(Check, HalvesAreNotTakenForNumbersOfTwiceTheirSize) {
  // From 1 to 8, as most programs have them: two of them look like an f32, and four like an f64.
  Page after(kPageSize), all;
  for (std::size_t i = 0; i < kPageSize / 2; ++i) {
    const auto bits = static_cast<uint16_t>(0x3c00 + i * 37 % 0xc00);
    std::memcpy(&after[i * 2], &bits, 2);
  }
  capture(zero_, zero_, zero_, after, zero_, zero_);
  Page one = all = after;
  one[200] ^= 1;
  for (std::size_t i = 0; i < kPageSize; i += 2) all[i] ^= 1;
  for (const auto &[page, elements] : {std::pair{one, uint64_t{1}}, {all, kPageSize / 2}}) {
    const Outcome outcome = wrote({{{kDevice, 0}, page}});
    const RegionDifference d = compare(outcome).differences.at(0);
    EXPECT_EQ(d.type, ElementType::f16);
    EXPECT_EQ(d.elements, elements);
    EXPECT_EQ(d.largest_ulp, 1u);
    EXPECT_TRUE(compare(outcome, {1, 0}).isEqual());
  }
}

TEST_F(Check, NumbersWithAllTheirDigitsAreNoHalves) {
  // All kinds of digits, and some that come again and again.
  for (const bool sine : {true, false}) {
    Page after(kPageSize);
    for (std::size_t i = 0; i < kPageSize / 4; ++i) {
      const auto x = static_cast<float>(i);
      set(after, i, sine ? std::sin(x) + 1.5f : x * 1.1f + 0.5f);
    }
    capture(zero_, zero_, zero_, after, zero_, zero_);
    for (std::size_t i = 0; i < kPageSize / 4; i += 7) {
      Page wrong = after;
      wrong[i * 4] ^= 2;
      EXPECT_EQ(compare(wrote({{{kDevice, 0}, wrong}})).differences.at(0).type, ElementType::f32)
          << i;
    }
    TearDown();
    SetUp();
  }
}

TEST_F(Check, WithoutAToleranceBitsCount) {
  const Page before = floats(1), after = floats(0.0f);
  capture(before, before, zero_, after, before, zero_);
  Page negative = after;
  set(negative, 3, -0.0f);
  EXPECT_FALSE(compare(wrote({{{kDevice, 0}, negative}})).isEqual());
  EXPECT_TRUE(compare(wrote({{{kDevice, 0}, negative}}), {1, 0}).isEqual());
  Page none = floats(std::nanf("")), other = none;
  other[8] ^= 1; // of its payload
  TearDown();
  SetUp();
  capture(before, before, zero_, none, before, zero_);
  EXPECT_FALSE(compare(wrote({{{kDevice, 0}, other}})).isEqual());
}

TEST_F(Check, ANumberThatBecameNoneIsStillOfItsTypeAndNeverTolerated) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, before, zero_);
  for (const float wrong : {std::nanf(""), -HUGE_VALF}) {
    Page page = after;
    set(page, 5, wrong);
    const Comparison c = compare(wrote({{{kDevice, 0}, page}}), {1000, 1e30});
    ASSERT_EQ(c.differences.size(), 1u);
    EXPECT_EQ(c.differences[0].type, ElementType::f32);
    EXPECT_EQ(c.differences[0].elements, 1u);
  }
  // Infinity is infinitely far from its opposite.
  const Distance d = distance(ElementType::f32, 0x7f800000, 0xff800000);
  EXPECT_TRUE(std::isinf(d.relative));
}

TEST_F(Check, TheUpperHalfOfAClockIsNotDeterministicEither) {
  const auto clock = [](uint64_t value) {
    Page page(kPageSize, 0);
    std::memcpy(&page[16], &value, sizeof value);
    return page;
  };
  const uint64_t minute = uint64_t{1} << 32;
  capture(zero_, zero_, zero_, clock(7 * minute + 123), zero_, zero_);
  const Outcome first = wrote({{{kDevice, 0}, clock(9 * minute + 1000)}});
  const Outcome second = wrote({{{kDevice, 0}, clock(9 * minute + 2000)}});
  const Comparison same = compare(first, first, second);
  EXPECT_TRUE(same.isEqual());
  EXPECT_EQ(same.not_deterministic, 2u);
  // Another version that leaves something else than the captured code does today.
  const Outcome other = wrote({{{kDevice, 0}, clock(8 * minute + 1500)}});
  EXPECT_FALSE(compare(other, first, second).isEqual());
  // Without a lower half that differs it is simply wrong.
  EXPECT_FALSE(compare(first).isEqual());
}

TEST_F(Check, WhatDiffersBetweenReplaysIsNotDeterministicAndCountsApart) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, before, zero_);
  Page first = after, second = after;
  set(first, 9, 7.0f);
  set(second, 9, 8.0f);
  const Comparison c = compare(wrote({{{kDevice, 0}, first}}), wrote({{{kDevice, 0}, first}}),
                               wrote({{{kDevice, 0}, second}}));
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.not_deterministic, 1u);
}

TEST_F(Check, PagesThatTheKernelDoesNotWriteAreSomebodyElses) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, after, zero_); // the second page was changed, too
  const Comparison c = compare(wrote({{{kDevice, 0}, after}}));
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.foreign_pages, 1u);
}

TEST_F(Check, AKernelThatWritesNothingIsFound) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, before, zero_);
  const Outcome captured_code = wrote({{{kDevice, 0}, after}});
  const Comparison c = compare(wrote({}), captured_code, captured_code);
  EXPECT_FALSE(c.isEqual());
  EXPECT_EQ(c.differences.at(0).elements, kPageSize / 4);
}

TEST_F(Check, AKernelThatWritesBesidesIsFound) {
  const Page before = floats(1), after = floats(2.5f);
  capture(before, before, zero_, after, before, zero_);
  const Outcome captured_code = wrote({{{kDevice, 0}, after}});
  Page stray = before;
  set(stray, 0, -1);
  const Comparison c =
      compare(wrote({{{kDevice, 0}, after}, {{kDevice, 1}, stray}}), captured_code, captured_code);
  EXPECT_FALSE(c.isEqual());
  EXPECT_EQ(c.differences.at(0).first, kPageSize);
}

TEST_F(Check, WordsOfHostMemoryThatTheKernelDoesNotChangeAreTheApplications) {
  Page host = floats(1), after_host = host;
  set(after_host, 0, 2);   // the kernel
  set(after_host, 100, 9); // the application, meanwhile
  capture(zero_, zero_, host, zero_, zero_, after_host);
  Page replayed = host;
  set(replayed, 0, 2);
  const Comparison c = compare(wrote({{{kHost, 0}, replayed}}));
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.foreign_words, 1u);
  set(replayed, 0, 3);
  EXPECT_FALSE(compare(wrote({{{kHost, 0}, replayed}})).isEqual());
}

/// While it lives, this process gets only so much more memory.
class MemoryLimit {
public:
  explicit MemoryLimit(uint64_t bytes) {
    getrlimit(RLIMIT_DATA, &before_);
    std::ifstream status("/proc/self/status");
    uint64_t kib = 0;
    for (std::string word; status >> word;)
      if (word == "VmData:") status >> kib;
    const rlimit limit{kib * 1024 + bytes, before_.rlim_max};
    setrlimit(RLIMIT_DATA, &limit);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_DATA, &before_); }
  MemoryLimit(const MemoryLimit &) = delete;
  MemoryLimit &operator=(const MemoryLimit &) = delete;

private:
  rlimit before_{};
};

// A few bytes of a capture's index stand for all of it.
TEST_F(Check, ARegionThatBecameZeroTakesNoMemoryHoweverLargeItIs) {
  constexpr uint64_t pages = uint64_t{16} << 30 >> 12;
  capture::Description d;
  d.gpu = "gfx90a";
  d.symbol = d.kernel = "k";
  d.regions.push_back({0x10000, pages * kPageSize, capture::RegionKind::pool, false, 1, 0, 0});
  auto writer = capture::Writer::create(dir_, "k");
  ASSERT_TRUE(writer.ok());
  (*writer)->begin(State::before, 0);
  (*writer)->skip(pages - 1, capture::Run::kZero);
  ASSERT_TRUE((*writer)->add(floats(1)).ok());
  (*writer)->begin(State::after, 0);
  (*writer)->skip(pages, capture::Run::kZero);
  ASSERT_TRUE((*writer)->finish(d, {}).ok());
  auto reader = capture::Reader::open((*writer)->path());
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  auto memory = Memory::load(**reader, nullptr);
  ASSERT_TRUE(memory.ok()) << memory.error().message();
  const MemoryLimit limit(uint64_t{128} << 20);
  Comparer comparer(**reader, **memory, std::nullopt);
  ASSERT_TRUE(comparer.load().ok());
  const Outcome all = wrote({{{0, 7}, zero_}, {{0, pages - 1}, zero_}});
  Comparison c = comparer.compare(all, {all}, {});
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.pages, 2u);
  EXPECT_EQ(c.foreign_pages, pages - 2) << "nobody has written those here";
  const Outcome wrong = wrote({{{0, 7}, floats(2)}});
  c = comparer.compare(wrong, {all}, {});
  ASSERT_EQ(c.differences.size(), 1u);
  EXPECT_EQ(c.differences[0].first, 7 * kPageSize);
  EXPECT_EQ(c.differences[0].last, pages * kPageSize - 4) << "which should have become zero";
  EXPECT_EQ(c.foreign_pages, pages - 2);
}

TEST_F(Check, PagesThatAReplayFilledWithTheSameTakeTheMemoryOfOne) {
  constexpr uint64_t pages = 1 << 16;
  const Page filled = floats(3);
  const MemoryLimit limit(uint64_t{64} << 20);
  Outcome outcome;
  for (uint64_t i = 0; i < pages; ++i) outcome.add({0, i}, filled.data());
  EXPECT_EQ(outcome.pages().size(), pages);
  EXPECT_EQ(std::memcmp(outcome.page({0, pages - 1}), filled.data(), kPageSize), 0);
}

TEST_F(Check, WithoutTheStateAfterVersionsAreComparedWithAReplay) {
  const Page before = floats(1);
  capture(before, before, zero_, before, before, zero_);
  const Outcome captured_code = wrote({{{kDevice, 0}, floats(4)}});
  Comparer comparer(*reader_, *memory_, std::nullopt);
  comparer.load(captured_code);
  EXPECT_TRUE(comparer.compare(captured_code, {captured_code}, {}).isEqual());
  const Outcome other = wrote({{{kDevice, 0}, floats(5)}});
  EXPECT_FALSE(comparer.compare(other, {captured_code}, {}).isEqual());
}

TEST_F(Check, ARegionThatOthersWriteIsLeftOut) {
  const Page before = floats(1), after = floats(2);
  capture(before, before, zero_, after, before, zero_);
  Comparer comparer(*reader_, *memory_, kDevice);
  ASSERT_TRUE(comparer.load().ok());
  const Outcome wrong = wrote({{{kDevice, 0}, floats(3)}});
  const Comparison c = comparer.compare(wrong, {wrong}, {});
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.pages, 0u);
}

TEST_F(Check, ListsOfTheHeapAreNotDeterministic) {
  const Page before = floats(1);
  Page after = before, replayed = before;
  set(after, 2, 5);
  set(replayed, 2, 6);
  set(replayed, 3, 7);
  capture(before, before, zero_, after, before, zero_);
  const uint64_t address = memory_->region(kDevice).address;
  Comparer comparer(*reader_, *memory_, std::nullopt, {{address + 8, 8}});
  ASSERT_TRUE(comparer.load().ok());
  const Outcome other_lists = wrote({{{kDevice, 0}, replayed}});
  const Comparison c = comparer.compare(other_lists, {other_lists}, {});
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.not_deterministic, 2u);
  set(replayed, 4, 7); // behind them
  const Outcome wrong = wrote({{{kDevice, 0}, replayed}});
  EXPECT_EQ(comparer.compare(wrong, {wrong}, {}).differences.at(0).elements, 1u);
}

TEST_F(Check, WhatIsTheSameTwiceByChanceIsReplayedUntilItIsNot) {
  const Page before = floats(1);
  capture(before, before, zero_, floats(2), before, zero_);
  Comparer comparer(*reader_, *memory_, std::nullopt);
  ASSERT_TRUE(comparer.load().ok());
  int runs = 0;
  const auto differsAt = [&](int n) {
    runs = 0;
    return [&runs, n] {
      return Result<Outcome>(wrote({{{kDevice, 0}, floats(++runs < n ? 3.0f : 4.0f)}}));
    };
  };
  const auto found = comparer.replays(differsAt(5), {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 5u);
  const Comparison c = comparer.compare(found->front(), *found, {});
  EXPECT_TRUE(c.isEqual());
  EXPECT_EQ(c.not_deterministic, kPageSize / 4);
  EXPECT_EQ(comparer.replays(differsAt(1000), {})->size(), 8u);
  runs = 0;
  const auto right = [&] { return ++runs, Result<Outcome>(wrote({{{kDevice, 0}, floats(2)}})); };
  EXPECT_EQ(comparer.replays(right, {})->size(), 2u);
}

TEST_F(Check, ChangedInputsAreOfTheSameKind) {
  Page whole(kPageSize);
  for (std::size_t at = 0; at < kPageSize; at += 4) whole[at] = 7; // all the same
  const Page numbers = floats(2.5f);
  for (const uint64_t seed : {1u, 2u}) {
    capture(numbers, whole, zero_, numbers, whole, zero_);
    EXPECT_EQ(changeInputs(*reader_, *memory_, seed, std::nullopt), 2u);
    std::array<float, kPageSize / 4> values;
    std::array<int32_t, kPageSize / 4> indices;
    std::memcpy(values.data(), memory_->captured({kDevice, 0}), kPageSize);
    std::memcpy(indices.data(), memory_->captured({kDevice, 1}), kPageSize);
    EXPECT_TRUE(std::ranges::all_of(
        values, [](float x) { return std::abs(x) >= 2 && std::abs(x) < 4 && x != 2.5f; }));
    // Signs are changed by even seeds.
    const auto negative = std::ranges::count_if(values, [](float x) { return x < 0; });
    EXPECT_EQ(negative > 50 && negative < 300, seed == 2) << negative;
    EXPECT_TRUE(std::ranges::all_of(indices, [](int32_t x) { return x >= 0 && x <= 7; }));
    const auto smaller = std::ranges::count_if(indices, [](int32_t x) { return x < 7; });
    EXPECT_GT(smaller, 300);
    EXPECT_LT(smaller, 700);
  }
}

TEST_F(Check, ASizeOrFlagAmongInputsStays) {
  Page alone = zero_;
  alone[100] = 7;
  capture(alone, zero_, zero_, alone, zero_, zero_);
  EXPECT_EQ(changeInputs(*reader_, *memory_, 1, std::nullopt), 0u);
}

} // namespace
} // namespace fade::replay
