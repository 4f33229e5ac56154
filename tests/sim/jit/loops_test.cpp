// Whole kernels as compiled code: results, counts and faults are the interpreter's, code is
// compiled when it is hot and not before, and processes end and fork while that goes on.
#include "../support/test_device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace fade::sim {
namespace {

struct Outcome {
  DispatchResult result;
  std::vector<uint32_t> out;
};

class Loops : public testing::TestWithParam<const char *> {
protected:
  static constexpr uint32_t items = 64 * 24;

  static std::vector<uint8_t> object() {
    return read_file(std::string(FADE_KERNELS "/jit-loops-") + GetParam() + ".hsaco");
  }
  Outcome run(JitUse jit, const std::string &kernel, uint32_t loops, unsigned workers = 3) {
    TestDevice device(GetParam(), workers, false, jit);
    CodeObject &code = device.load(object());
    auto out = device.allocate<uint32_t>(items);
    Outcome o;
    o.result = device.run(code, kernel, {items, 1, 1}, {256, 1, 1},
                          Arguments().add(out.va).add(loops), 4096);
    o.out.assign(out.data, out.data + items);
    return o;
  }
};

void expect_same(const Outcome &a, const Outcome &b) {
  EXPECT_EQ(a.result.status, b.result.status);
  EXPECT_EQ(a.result.message, b.result.message);
  EXPECT_EQ(a.result.pc, b.result.pc);
  EXPECT_EQ(a.result.fault_address, b.result.fault_address);
  EXPECT_EQ(a.out, b.out);
  const DispatchStats &s = a.result.stats, &t = b.result.stats;
  for (size_t c = 0; c < s.classes.size(); c++) {
    EXPECT_EQ(s.classes[c].waves, t.classes[c].waves) << name_of(static_cast<ExecClass>(c));
    EXPECT_EQ(s.classes[c].lanes, t.classes[c].lanes) << name_of(static_cast<ExecClass>(c));
  }
  EXPECT_EQ(s.barriers, t.barriers);
  EXPECT_EQ(s.global_bytes_written, t.global_bytes_written);
  EXPECT_EQ(s.lds_bytes_read, t.lds_bytes_read);
}

TEST_P(Loops, CompiledLoopsGiveWhatInterpretedOnesGive) {
  for (const char *kernel : {"integers", "floats", "doubles", "shared_sums", "neighbours"}) {
    SCOPED_TRACE(kernel);
    const Outcome interpreted = run(JitUse::off, kernel, 50);
    EXPECT_EQ(interpreted.result.status, DispatchResult::Status::ok) << interpreted.result.message;
    EXPECT_EQ(interpreted.result.stats.compiled, 0u);
    const Outcome compiled = run(JitUse::always, kernel, 50);
    EXPECT_GT(compiled.result.stats.compiled, 0u);
    expect_same(interpreted, compiled);
  }
}

TEST_P(Loops, LongLoopsAreCompiledWhileTheyRunAndShortOnesAreNot) {
  EXPECT_EQ(run(JitUse::when_hot, "integers", 100).result.stats.compiled, 0u);
  for (const char *kernel : {"integers", "floats"}) {
    SCOPED_TRACE(kernel);
    const Outcome hot = run(JitUse::when_hot, kernel, 40'000);
    const DispatchStats::Count all = hot.result.stats.total();
    EXPECT_GT(hot.result.stats.compiled, all.waves / 2);
    expect_same(run(JitUse::off, kernel, 40'000), hot);
  }
}

TEST_P(Loops, AFaultInCompiledCodeIsTheSameFault) {
  const Outcome interpreted = run(JitUse::off, "runs_away", 2000, 1);
  EXPECT_EQ(interpreted.result.status, DispatchResult::Status::memory_fault);
  const Outcome compiled = run(JitUse::always, "runs_away", 2000, 1);
  EXPECT_GT(compiled.result.stats.compiled, 0u);
  expect_same(interpreted, compiled);
}

TEST_P(Loops, CompiledCodeStopsWhenItIsTo) {
  TestDevice device(GetParam(), 2, false, JitUse::always);
  CodeObject &code = device.load(object());
  auto out = device.allocate<uint32_t>(items);
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    device.executor().stop();
  });
  const DispatchResult r = device.run(code, "endless", {items, 1, 1}, {64, 1, 1},
                                      Arguments().add(out.va).add(uint32_t{0}));
  stopper.join();
  EXPECT_EQ(r.status, DispatchResult::Status::stopped);
  EXPECT_GT(r.stats.compiled, 0u);
}

// What was compiled of code goes with it.
TEST_P(Loops, CodeThatWasReplacedIsCompiledAnew) {
  TestDevice device(GetParam(), 1, false, JitUse::always);
  CodeObject &code = device.load(object());
  auto out = device.allocate<uint32_t>(items);
  const auto go = [&] {
    return device.run(code, "integers", {items, 1, 1}, {64, 1, 1},
                      Arguments().add(out.va).add(uint32_t{10}));
  };
  EXPECT_GT(go().stats.compiled, 0u);
  const uint32_t before = out[5];
  // The constant of the kernel's first exclusive or.
  const uint64_t entry = code.symbol("integers");
  bool found = false;
  for (uint64_t at = entry; at < entry + 400 && !found; at += 4) {
    auto *word = device.memory().at<uint32_t>(at);
    if (word && *word == 0x9e3779b9) *word = 0x12345678, found = true;
  }
  ASSERT_TRUE(found);
  EXPECT_GT(go().stats.compiled, 0u);
  EXPECT_NE(out[5], before);
  std::vector<uint32_t> again(out.data, out.data + items);
  TestDevice other(GetParam(), 1, false, JitUse::off);
  CodeObject &same = other.load(object());
  for (uint64_t at = same.symbol("integers");; at += 4)
    if (auto *word = other.memory().at<uint32_t>(at); *word == 0x9e3779b9) {
      *word = 0x12345678;
      break;
    }
  auto expected = other.allocate<uint32_t>(items);
  other.run(same, "integers", {items, 1, 1}, {64, 1, 1},
            Arguments().add(expected.va).add(uint32_t{10}));
  EXPECT_EQ(again, std::vector<uint32_t>(expected.data, expected.data + items));
}

INSTANTIATE_TEST_SUITE_P(, Loops, testing::Values("gfx90a", "gfx1030"),
                         [](const auto &i) { return std::string(i.param); });

} // namespace
} // namespace fade::sim
