// Kernels that clang compiled for gfx1200 and gfx1201, with waves of both sizes: split barriers and
// counters, workgroup numbers in the trap handler's registers, memory instructions of three words.
#include "../support/test_device.h"

#include <fade/observer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace fade::sim {
namespace {

constexpr uint32_t items = 256;

class Gfx12Kernels : public testing::TestWithParam<const char *> {
protected:
  DispatchResult start(const char *kernel, uint32_t groups, const Arguments &arguments,
                       uint32_t lds = 0, uint32_t scratch = 0) {
    return device.run(object, kernel, {groups * items, 1, 1}, {items, 1, 1}, arguments, lds,
                      scratch);
  }
  DispatchStats run(const char *kernel, uint32_t groups, const Arguments &arguments,
                    uint32_t lds = 0, uint32_t scratch = 0) {
    const DispatchResult result = start(kernel, groups, arguments, lds, scratch);
    EXPECT_EQ(result.status, DispatchResult::Status::ok) << result.message;
    return result.stats;
  }
  std::vector<uint32_t> numbers(uint32_t count) {
    std::vector<uint32_t> v(count);
    uint32_t state = 12345;
    for (uint32_t &x : v) x = state = state * 1664525 + 1013904223;
    return v;
  }
  static std::string gpu() { return std::string(GetParam()).substr(0, 7); }

  TestDevice device{gpu(), 2};
  CodeObject &object =
      device.load(read_file(std::string(FADE_KERNELS "/gfx12-") + GetParam() + ".hsaco"));
};

TEST_P(Gfx12Kernels, AddVectors) {
  constexpr uint32_t count = 4 * items - 13;
  auto a = device.allocate<float>(count), b = device.allocate<float>(count),
       sum = device.allocate<float>(count);
  for (uint32_t i = 0; i < count; i++)
    a[i] = static_cast<float>(i) * 0.5f, b[i] = 1000.0f - static_cast<float>(i);
  run("add", 2, Arguments().add(a.va).add(b.va).add(sum.va).add(count));
  for (uint32_t i = 0; i < count; i++)
    ASSERT_EQ(sum[i], 1000.0f - static_cast<float>(i) * 0.5f) << i;
}

TEST_P(Gfx12Kernels, ReduceInLdsBetweenBarriers) {
  constexpr uint32_t groups = 5;
  const auto values = numbers(groups * items);
  auto in = device.upload(values);
  auto sums = device.allocate<uint32_t>(groups);
  const DispatchStats stats =
      run("reduce", groups, Arguments().add(in.va).add(sums.va).add(0u), 4 * items);
  for (uint32_t g = 0; g < groups; g++)
    EXPECT_EQ(sums[g],
              std::accumulate(&values[g * items], &values[g * items] + items, uint32_t{0}));
  EXPECT_EQ(stats.barriers, groups * 8);
}

TEST_P(Gfx12Kernels, KnowWhereInTheGridTheyAre) {
  auto out = device.allocate<uint64_t>(3 * 4 * 2 * 24);
  const DispatchResult r =
      device.run(object, "where", {3 * 4, 4 * 2, 2 * 3}, {4, 2, 3}, Arguments().add(out.va));
  ASSERT_EQ(r.status, DispatchResult::Status::ok) << r.message;
  for (uint64_t group = 0; group < 24; group++)
    for (uint64_t item = 0; item < 24; item++)
      ASSERT_EQ(out[group * 24 + item], group % 3 | group / 3 % 4 << 9 | group / 12 << 18 |
                                            item % 4 << 27 | item / 4 % 2 << 36 | item / 8 << 45)
          << group << ", " << item;
}

TEST_P(Gfx12Kernels, CountWithAtomics) {
  constexpr uint32_t groups = 4;
  const auto values = numbers(groups * items);
  auto in = device.upload(values);
  auto bins = device.allocate<uint32_t>(16), seen = device.allocate<uint32_t>(groups * items);
  run("histogram", groups, Arguments().add(in.va).add(bins.va).add(seen.va).add(0u), 64);
  for (uint32_t bin = 0; bin < 16; bin++) {
    EXPECT_EQ(bins[bin], static_cast<uint32_t>(std::ranges::count_if(
                             values, [&](uint32_t v) { return (v & 15) == bin; })));
    // In each workgroup every number from 0 on was returned once.
    for (uint32_t g = 0; g < groups; g++) {
      std::vector<uint32_t> returned;
      for (uint32_t i = g * items; i < (g + 1) * items; i++)
        if ((values[i] & 15) == bin) returned.push_back(seen[i]);
      std::ranges::sort(returned);
      for (uint32_t n = 0; n < returned.size(); n++) ASSERT_EQ(returned[n], n);
    }
  }
}

TEST_P(Gfx12Kernels, WorkBetweenSignalAndWait) {
  constexpr uint32_t groups = 3, rounds = 8;
  auto out = device.allocate<uint32_t>(groups * rounds * items);
  const DispatchStats stats =
      run("split", groups, Arguments().add(out.va).add(0u), 4 * items * rounds);
  for (uint32_t g = 0; g < groups; g++)
    for (uint32_t round = 0; round < rounds; round++)
      for (uint32_t i = 0; i < items; i++)
        ASSERT_EQ(out[(g * rounds + round) * items + i], (items - 1 - i) * 10 + round);
  EXPECT_EQ(stats.barriers, groups * rounds);
}

// What observers are told of barriers and waits. That all have arrived is told with the last
// signal, before any wave goes on behind its wait.
class BarrierRecorder : public Observer {
public:
  struct Worker : WorkerObserver {
    unsigned arrived = 0, came = 0, passed = 0, left = 0, waits_for_lds = 0, early = 0;
    unsigned invalidations = 0, write_backs = 0; // with the counters that tell their end
    uint64_t waiting = 0;                        // by wave
    void barrier(const ObservedWave &w, uint64_t, uint64_t lanes) override {
      arrived += lanes != 0, came++;
      waiting |= uint64_t{1} << w.number;
    }
    void barrierPassed(ObservedGroup &group) override {
      EXPECT_EQ(arrived, group.waves);
      EXPECT_TRUE(group.splits_barriers);
      arrived = 0, waiting = 0, passed++;
    }
    void barrierLeft(const ObservedWave &) override { left++; }
    void access(const ObservedWave &w, const ObservedAccess &a) override {
      early += a.space == AccessSpace::lds && waiting >> w.number & 1;
    }
    void registers(const ObservedWave &, const ObservedInstruction &in) override {
      const std::string_view name = in.name;
      invalidations += name == "global_inv" && in.counter == WaitCounter::vector;
      write_backs += name == "global_wb" && in.counter == WaitCounter::stores;
    }
    void wait(const ObservedWave &, const ObservedWait &w) override {
      waits_for_lds += w.lds != ObservedWait::any;
    }
  };
  struct Watch : DispatchObserver {
    explicit Watch(Worker &w) : worker_(w) {}
    WorkerObserver *worker(uint32_t) override { return &worker_; }
    void end(const ObservedEnd &) override {}
    Worker &worker_;
  };
  uint32_t wants() const override { return kWantsAccesses | kWantsControl | kWantsRegisters; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &, uint32_t) override {
    return std::make_unique<Watch>(seen);
  }
  Worker seen;
};

TEST_P(Gfx12Kernels, TellObserversOfBarriersInOrder) {
  TestDevice one(gpu(), 1);
  CodeObject &code =
      one.load(read_file(std::string(FADE_KERNELS "/gfx12-") + GetParam() + ".hsaco"));
  auto in = one.upload(numbers(2 * items));
  auto sums = one.allocate<uint32_t>(2);
  BarrierRecorder recorder;
  one.executor().observe(&recorder);
  const DispatchResult r = one.run(code, "reduce", {2 * items, 1, 1}, {items, 1, 1},
                                   Arguments().add(in.va).add(sums.va).add(0u), 4 * items);
  one.executor().observe(nullptr);
  EXPECT_EQ(r.status, DispatchResult::Status::ok) << r.message;
  EXPECT_EQ(recorder.seen.passed, 2u * 8);
  EXPECT_GT(recorder.seen.left, 0u);
  EXPECT_EQ(recorder.seen.left, recorder.seen.came);
  EXPECT_EQ(recorder.seen.early, 0u);
  EXPECT_GT(recorder.seen.waits_for_lds, 0u);
  EXPECT_GT(recorder.seen.invalidations, 0u);
  EXPECT_GT(recorder.seen.write_backs, 0u);
}

// One wave alone: nobody is waited for, but the barrier counts as one.
TEST_P(Gfx12Kernels, PassBarriersAlone) {
  auto in = device.upload(numbers(items));
  auto sums = device.allocate<uint32_t>(1);
  BarrierRecorder recorder;
  device.executor().observe(&recorder);
  const DispatchResult r = device.run(object, "alone", {32, 1, 1}, {32, 1, 1},
                                      Arguments().add(in.va).add(sums.va).add(0u), 128);
  device.executor().observe(nullptr);
  EXPECT_EQ(r.status, DispatchResult::Status::ok) << r.message;
  EXPECT_EQ(recorder.seen.passed, 1u);
  EXPECT_EQ(r.stats.barriers, 1u);
  EXPECT_EQ(sums[0], in[31]);
}

TEST_P(Gfx12Kernels, OneWaveOfAWorkgroupSignalsFirst) {
  auto count = device.allocate<uint32_t>(6);
  run("first", 6, Arguments().add(count.va));
  for (uint32_t g = 0; g < 6; g++) EXPECT_EQ(count[g], 1u);
}

TEST_P(Gfx12Kernels, MeetWithoutWavesThatHaveEnded) {
  auto out = device.allocate<uint32_t>(2 * items);
  run("leave_early", 2, Arguments().add(out.va).add(0u), 4 * items);
  for (uint32_t i = 0; i < items / 2; i++) EXPECT_EQ(out[items + i], items / 2 - 1 - i + 7);
}

TEST_P(Gfx12Kernels, HavePrivateMemory) {
  const auto values = numbers(16);
  auto in = device.upload(values);
  auto out = device.allocate<uint32_t>(2 * items);
  run("private_memory", 2, Arguments().add(in.va).add(out.va), 0, 128);
  for (uint32_t item = 0; item < items; item++) {
    uint32_t own[16], sum = 0;
    for (uint32_t i = 0; i < 16; i++) own[i] = values[i] * 3 + item;
    for (uint32_t i = 0; i < 16; i++) own[values[i] & 15] ^= own[(i + item) & 15];
    for (const uint32_t x : own) sum = sum * 31 + x;
    ASSERT_EQ(out[items + item], sum) << item;
  }
}

TEST_P(Gfx12Kernels, AreRefusedMoreRegistersWhileTheyRun) {
  auto out = device.allocate<uint32_t>(items);
  const DispatchResult r = start("more_registers", 1, Arguments().add(out.va));
  EXPECT_NE(r.status, DispatchResult::Status::ok);
  EXPECT_NE(r.message.find("dynamic VGPRs are not supported"), std::string::npos) << r.message;
}

INSTANTIATE_TEST_SUITE_P(, Gfx12Kernels,
                         testing::Values("gfx1200-32", "gfx1200-64", "gfx1201-32", "gfx1201-64"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

} // namespace
} // namespace fade::sim
