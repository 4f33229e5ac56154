// What observers are told: who, where, what, by whom, and nothing when nobody looks.
#include "../support/test_device.h"

#include <fade/observer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace fade::sim {
namespace {

using Status = DispatchResult::Status;

// Keeps what each worker saw apart, and adds it up at the end.
struct Seen {
  std::map<uint64_t, int> loads, stores, atomics, lds_stores; // times per address
  uint64_t scalar_loads = 0, groups = 0, groups_ended = 0, waves = 0, waves_ended = 0, blocks = 0;
  uint64_t runs = 0, runs_at_blocks = 0, atomics_done = 0;
  uint64_t loads_side_by_side = 0, wrong_strides = 0;
  uint64_t barriers = 0, barriers_passed = 0, waits = 0, branches = 0, taken = 0, fences = 0;
  std::set<std::thread::id> threads;
  std::string kernel, message;
  bool ok = false;
};

class Recorder : public Observer {
public:
  explicit Recorder(uint32_t wanted = kWantsAccesses | kWantsBlocks | kWantsControl)
      : wanted_(wanted) {}
  Seen seen; // after the dispatch
  std::atomic<int> dispatches{0};
  bool refuses = false;
  uint32_t wanted_of_dispatch = ~0u;

  uint32_t wants() const override { return wanted_; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &d, uint32_t workers) override {
    ++dispatches;
    if (refuses) return nullptr;
    return std::make_unique<Watch>(*this, d, workers);
  }

private:
  struct Worker : WorkerObserver {
    Seen seen;
    void groupBegins(ObservedGroup &g) override {
      seen.groups++;
      g.state = &g;
      seen.threads.insert(std::this_thread::get_id());
    }
    void groupEnds(ObservedGroup &g) override { seen.groups_ended += g.state == &g; }
    void waveBegins(const ObservedWave &) override { seen.waves++; }
    void waveEnds(const ObservedWave &, uint64_t pc) override { seen.waves_ended += pc != 0; }
    void block(const ObservedWave &, uint64_t pc, uint64_t) override {
      seen.blocks++;
      last_block = pc;
    }
    void run(const ObservedWave &, const ObservedRun &run, uint64_t) override {
      seen.runs++;
      seen.runs_at_blocks += run.pc == last_block && run.end > run.pc;
      last_block = 0;
    }
    uint64_t last_block = 0;
    void access(const ObservedWave &w, const ObservedAccess &a) override {
      is_atomic = a.kind == AccessKind::atomic;
      if (a.path == AccessPath::scalar) seen.scalar_loads++;
      seen.loads_side_by_side += a.kind == AccessKind::load && a.lane_stride == a.size;
      for (unsigned lane = 0; lane < w.lanes; lane++)
        seen.wrong_strides += a.lane_stride && (a.lanes >> lane & 1) &&
                              a.address[lane] != a.address[0] + uint64_t{lane} * a.lane_stride;
      for (unsigned lane = 0; lane < w.lanes; lane++) {
        if (!(a.lanes >> lane & 1) || a.path == AccessPath::scalar) continue;
        if (a.space == AccessSpace::lds && a.kind == AccessKind::store)
          ++seen.lds_stores[a.address[lane]];
        if (a.space != AccessSpace::global) continue;
        ++(a.kind == AccessKind::load    ? seen.loads
           : a.kind == AccessKind::store ? seen.stores
                                         : seen.atomics)[a.address[lane]];
      }
    }
    void atomicDone(const ObservedWave &) override {
      seen.atomics_done += is_atomic;
      is_atomic = false;
    }
    bool is_atomic = false; // what was told of last
    void barrier(const ObservedWave &, uint64_t, uint64_t lanes) override {
      seen.barriers += lanes != 0;
    }
    void barrierPassed(ObservedGroup &) override { seen.barriers_passed++; }
    void wait(const ObservedWave &, const ObservedWait &w) override {
      seen.waits += w.vector != ObservedWait::any || w.scalar != ObservedWait::any;
    }
    void fence(const ObservedWave &, const ObservedFence &) override { seen.fences++; }
    void branch(const ObservedWave &, const ObservedBranch &b) override {
      seen.branches++, seen.taken += b.taken;
    }
  };
  struct Watch : DispatchObserver {
    Watch(Recorder &r, const ObservedDispatch &d, uint32_t n)
        : recorder(r), kernel(d.kernel), workers(n) {}
    WorkerObserver *worker(uint32_t n) override { return &workers.at(n); }
    uint32_t wants() const override { return recorder.wanted_of_dispatch; }
    void end(const ObservedEnd &end) override {
      Seen &all = recorder.seen;
      all.kernel = kernel, all.message = end.message, all.ok = end.ok;
      for (const Worker &w : workers) {
        const Seen &s = w.seen;
        for (auto [from, to] : {std::pair{&s.loads, &all.loads},
                                {&s.stores, &all.stores},
                                {&s.atomics, &all.atomics},
                                {&s.lds_stores, &all.lds_stores}})
          for (const auto &[address, times] : *from) (*to)[address] += times;
        all.scalar_loads += s.scalar_loads, all.groups += s.groups, all.waves += s.waves;
        all.groups_ended += s.groups_ended, all.waves_ended += s.waves_ended;
        all.blocks += s.blocks, all.barriers += s.barriers, all.waits += s.waits;
        all.barriers_passed += s.barriers_passed, all.branches += s.branches;
        all.taken += s.taken, all.fences += s.fences;
        all.atomics_done += s.atomics_done;
        all.loads_side_by_side += s.loads_side_by_side, all.wrong_strides += s.wrong_strides;
        all.runs += s.runs, all.runs_at_blocks += s.runs_at_blocks;
        all.threads.insert(s.threads.begin(), s.threads.end());
      }
    }
    Recorder &recorder;
    std::string kernel;
    std::vector<Worker> workers;
  };
  uint32_t wanted_;
};

class ObserverTest : public testing::TestWithParam<const char *> {
protected:
  Dispatch prepare(const std::string &kernel, uint32_t items, const Arguments &arguments,
                   uint32_t group = 64) {
    return prepare(device, object, kernel, items, arguments, group);
  }
  static Dispatch prepare(TestDevice &device, CodeObject &object, const std::string &kernel,
                          uint32_t items, const Arguments &arguments, uint32_t group = 64) {
    std::vector<uint8_t> bytes = arguments.bytes();
    bytes.resize(bytes.size() + 512);
    Dispatch d;
    d.grid = {items, 1, 1};
    d.workgroup = {group, 1, 1};
    d.group_segment_size = 1024;
    d.kernel_object = object.symbol(kernel + ".kd");
    d.kernarg_address = device.upload(bytes).va;
    auto packet = device.allocate<uint32_t>(16);
    reinterpret_cast<uint16_t *>(packet.data)[2] = static_cast<uint16_t>(group);
    packet[3] = items;
    d.packet_address = packet.va;
    return d;
  }
  Seen observe(const Dispatch &d, Recorder &recorder) {
    device.executor().observe(&recorder);
    const auto result = device.executor().run(d);
    device.executor().observe(nullptr);
    EXPECT_EQ(result.status == Status::ok, recorder.seen.ok) << result.message;
    return recorder.seen;
  }

  TestDevice device{GetParam(), 4};
  CodeObject &object =
      device.load(read_file(std::string(FADE_KERNELS "/exec-kernels-") + GetParam() + ".hsaco"));
  const uint64_t lanes = std::string(GetParam()) == "gfx90a" ? 64 : 32;
};

TEST_P(ObserverTest, SeesEachLaneOfEachAccessOnce) {
  constexpr uint32_t items = 64 * 6;
  std::vector<uint32_t> words(items);
  for (uint32_t i = 0; i < items; i++) words[i] = i * 3;
  auto in = device.upload(words), out = device.allocate<uint32_t>(items);
  Recorder recorder;
  Seen seen = observe(prepare("reverse", items, Arguments().add(in.va).add(out.va)), recorder);
  for (uint32_t i = 0; i < items; i++) {
    const uint32_t word = words[i / 64 * 64 + 63 - i % 64];
    EXPECT_EQ(seen.loads[in.va + 4 * i], 1) << i;
    EXPECT_EQ(seen.stores.count(out.va + 4 * i), word & 1) << i;
    EXPECT_EQ(out[i], word & 1 ? word : 0) << i;
  }
  for (uint32_t i = 0; i < 64; i++) EXPECT_EQ(seen.lds_stores[4 * i], 6) << i;
  EXPECT_EQ(seen.loads_side_by_side, items / lanes);
  EXPECT_EQ(seen.wrong_strides, 0u);
}

TEST_P(ObserverTest, SeesBeginningsAndEndsBarriersWaitsAndScalarLoads) {
  constexpr uint32_t items = 64 * 6;
  auto in = device.allocate<uint32_t>(items), out = device.allocate<uint32_t>(items);
  Recorder recorder;
  const Seen seen =
      observe(prepare("reverse", items, Arguments().add(in.va).add(out.va)), recorder);
  EXPECT_EQ(seen.groups, 6u);
  EXPECT_EQ(seen.groups_ended, 6u);
  EXPECT_EQ(seen.waves, items / lanes);
  EXPECT_EQ(seen.waves_ended, items / lanes);
  EXPECT_GE(seen.blocks, items / lanes);
  EXPECT_GE(seen.scalar_loads, items / lanes); // the arguments
  EXPECT_GE(seen.waits, items / lanes);
  // The compiler drops a barrier of a workgroup that is one wave.
  if (lanes == 32) {
    EXPECT_EQ(seen.barriers, items / lanes);
    EXPECT_EQ(seen.barriers_passed, 6u);
  }
}

TEST_P(ObserverTest, SeesBranchesFencesAndAtomics) {
  auto arrived = device.allocate<uint32_t>(1);
  auto values = device.allocate<uint32_t>(4), out = device.allocate<uint32_t>(4);
  Recorder recorder;
  Seen seen =
      observe(prepare("meet", 64 * 4,
                      Arguments().add(arrived.va).add(values.va).add(out.va).add(uint32_t{4})),
              recorder);
  EXPECT_EQ(seen.atomics[arrived.va], 4);
  EXPECT_EQ(seen.atomics_done, 4u);
  EXPECT_GE(seen.fences, 4u); // acquires
  EXPECT_GE(seen.branches, 4u);
  EXPECT_GE(seen.taken, 1u); // to itself, or past what lane 0 does
  EXPECT_LE(seen.taken, seen.branches);
}

TEST_P(ObserverTest, AnAccessThatFaultsIsSeenBeforeItFaults) {
  Recorder recorder;
  const Seen seen = observe(prepare("store_at", 1, Arguments().add(uint64_t{0x123000})), recorder);
  EXPECT_FALSE(seen.ok);
  EXPECT_NE(seen.message.find("0x123000"), std::string::npos) << seen.message;
  EXPECT_EQ(seen.stores.count(0x123000), 1u);
}

TEST_P(ObserverTest, TheEndOfAnAtomicThatFaultsIsToldToo) {
  Recorder recorder;
  const uint64_t nowhere = 0x123000, values = device.allocate<uint32_t>(1).va;
  const Seen seen = observe(
      prepare("meet", 64, Arguments().add(nowhere).add(values).add(values).add(1u)), recorder);
  EXPECT_FALSE(seen.ok);
  EXPECT_EQ(seen.atomics.count(nowhere), 1u);
  EXPECT_EQ(seen.atomics_done, 1u);
}

TEST_P(ObserverTest, ThoseWhoAreNotInterestedAreNotTold) {
  auto in = device.allocate<uint32_t>(64), out = device.allocate<uint32_t>(64);
  const Dispatch d = prepare("reverse", 64, Arguments().add(in.va).add(out.va));
  Recorder accesses(kWantsAccesses), control(kWantsControl), nothing;
  Seen seen = observe(d, accesses);
  EXPECT_EQ(seen.blocks + seen.waits + seen.branches, 0u);
  EXPECT_EQ(seen.loads.size(), 64u);
  seen = observe(d, control);
  EXPECT_TRUE(seen.loads.empty());
  EXPECT_EQ(seen.blocks, 0u);
  EXPECT_GT(seen.waits, 0u);
  nothing.refuses = true;
  device.executor().observe(&nothing);
  EXPECT_EQ(device.executor().run(d).status, Status::ok);
  EXPECT_EQ(nothing.dispatches, 1);
  device.executor().observe(nullptr);
  EXPECT_EQ(device.executor().run(d).status, Status::ok);
  EXPECT_EQ(nothing.dispatches, 1); // nobody listens any more
  EXPECT_EQ(nothing.seen.groups, 0u);
}

TEST_P(ObserverTest, RunsAreAllThatWasExecutedAndBlocksBeginWithOne) {
  constexpr uint32_t items = 64 * 6;
  auto in = device.allocate<uint32_t>(items), out = device.allocate<uint32_t>(items);
  const Dispatch d = prepare("reverse", items, Arguments().add(in.va).add(out.va));
  Recorder recorder(kWantsRuns | kWantsBlocks);
  const Seen seen = observe(d, recorder);
  EXPECT_GT(seen.blocks, 0u);
  EXPECT_EQ(seen.runs_at_blocks, seen.blocks);
  EXPECT_GE(seen.runs, seen.blocks);
  EXPECT_TRUE(seen.loads.empty());
  recorder.wanted_of_dispatch = kWantsBlocks;
  EXPECT_EQ(observe(d, recorder).runs, seen.runs); // none came in addition
}

// A kernel whose arguments are preloaded has two entries, which meet at the end here.
TEST(ObservedEntryTest, BlocksBeginWhereTheOtherEntryLeads) {
  constexpr uint32_t branch = 0xbf820000, nop = 0xbf800000, end = 0xbf810000;
  TestDevice device{"gfx90a", 1};
  std::vector<uint32_t> words(200, nop);
  constexpr unsigned code = 80, preloaded = code + 64;
  words[4] = code * 4, words[5] = 0; // entry
  words[13] = 4 << 1;                // user registers
  words[14] = 2 << 16 | 1 << 3;      // two dwords are preloaded behind the pointer to the arguments
  words[code] = branch | 65;
  words[preloaded + 2] = end;
  Dispatch d;
  d.grid = d.workgroup = {64, 1, 1};
  d.kernel_object = device.upload(words).va;
  d.kernarg_address = device.allocate<uint32_t>(16).va;
  Recorder recorder(kWantsBlocks);
  device.executor().observe(&recorder);
  const auto result = device.executor().run(d);
  device.executor().observe(nullptr);
  EXPECT_EQ(result.status, Status::ok) << result.message;
  EXPECT_EQ(recorder.seen.blocks, 2u);
}

TEST_P(ObserverTest, CountsAndResultsAreTheSameObservedOrNot) {
  constexpr uint32_t items = 64 * 6;
  std::vector<uint32_t> words(items, 7);
  auto in = device.upload(words), out = device.allocate<uint32_t>(items);
  const Dispatch d = prepare("reverse", items, Arguments().add(in.va).add(out.va));
  const auto plain = device.executor().run(d);
  Recorder recorder;
  device.executor().observe(&recorder);
  const auto observed = device.executor().run(d);
  device.executor().observe(nullptr);
  EXPECT_EQ(plain.stats.total().waves, observed.stats.total().waves);
  EXPECT_EQ(plain.stats.total().lanes, observed.stats.total().lanes);
  EXPECT_EQ(plain.stats.global_bytes_read, observed.stats.global_bytes_read);
  EXPECT_EQ(plain.stats.global_bytes_written, observed.stats.global_bytes_written);
  EXPECT_EQ(plain.stats.lds_bytes_read, observed.stats.lds_bytes_read);
  EXPECT_EQ(plain.stats.lds_bytes_written, observed.stats.lds_bytes_written);
}

// Tries each instruction with other values in all that it reads.
struct Trier : Observer, WorkerObserver {
  uint64_t tried = 0, lowest_byte_only = 0;
  uint32_t wants() const override { return kWantsRegisters; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &, uint32_t) override {
    struct Watch : DispatchObserver {
      explicit Watch(Trier &t) : trier(t) {}
      WorkerObserver *worker(uint32_t) override { return &trier; }
      Trier &trier;
    };
    return std::make_unique<Watch>(*this);
  }
  void registers(const ObservedWave &, const ObservedInstruction &in) override {
    if (!in.trial) return;
    std::vector<ObservedBytes> inputs;
    for (uint32_t i = 0; i < in.reads_count; i++)
      for (uint16_t k = 0; k < in.reads[i].count; k++)
        inputs.push_back({in.reads[i].vector,
                          static_cast<uint16_t>(in.reads[i].first + k),
                          {~0ull, ~0ull, ~0ull, ~0ull}});
    ObservedBytes results[16];
    const uint32_t count =
        in.trial->depends(inputs.data(), static_cast<uint32_t>(inputs.size()), results, 16);
    tried += count != 0;
    const std::string name = in.name;
    if (name == "v_and_b32" && in.reads_count == 1 && count == 1)
      lowest_byte_only += results[0].lanes[0] == in.lanes && !results[0].lanes[1] &&
                          !results[0].lanes[2] && !results[0].lanes[3];
  }
};

TEST_P(ObserverTest, TryingLeavesNothingAndTellsWhichBytesOfAResultDepend) {
  TestDevice one{GetParam(), 1};
  CodeObject &code =
      one.load(read_file(std::string(FADE_KERNELS "/exec-kernels-") + GetParam() + ".hsaco"));
  constexpr uint32_t items = 64 * 2;
  std::vector<uint32_t> words(items);
  for (uint32_t i = 0; i < items; i++) words[i] = i * 3;
  auto in = one.upload(words), out = one.allocate<uint32_t>(items);
  Dispatch d = prepare("reverse", items, Arguments().add(in.va).add(out.va));
  d.kernel_object = code.symbol("reverse.kd");
  std::vector<uint8_t> bytes = Arguments().add(in.va).add(out.va).bytes();
  bytes.resize(bytes.size() + 512);
  d.kernarg_address = one.upload(bytes).va;
  auto packet = one.allocate<uint32_t>(16);
  reinterpret_cast<uint16_t *>(packet.data)[2] = 64;
  packet[3] = items;
  d.packet_address = packet.va;
  Trier trier;
  one.executor().observe(&trier);
  EXPECT_EQ(one.executor().run(d).status, Status::ok);
  one.executor().observe(nullptr);
  for (uint32_t i = 0; i < items; i++) {
    const uint32_t word = words[i / 64 * 64 + 63 - i % 64];
    EXPECT_EQ(out[i], word & 1 ? word : 0) << i;
  }
  EXPECT_GT(trier.tried, 5u);
  EXPECT_EQ(trier.lowest_byte_only, items / lanes) << "word & 1";
}

// Who did what, one after the other.
class InOrder : public Observer, WorkerObserver {
public:
  uint32_t wants() const override { return kWantsAccesses | kWantsOrder; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &d, uint32_t) override {
    struct Passed : DispatchObserver {
      explicit Passed(InOrder &to) : all(to) {}
      WorkerObserver *worker(uint32_t n) override {
        if (n != 0) all.other_workers = true;
        return &all;
      }
      InOrder &all;
    };
    entry_ = d.entry;
    return std::make_unique<Passed>(*this);
  }
  struct Step {
    uint32_t group, wave;
    uint64_t at;
    bool operator==(const Step &) const = default;
  };
  std::vector<Step> steps;
  std::atomic<bool> other_workers{false}, several_at_once{false};

private:
  void access(const ObservedWave &w, const ObservedAccess &a) override {
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock)
      steps.push_back({w.group->id[0], w.number, a.pc - entry_});
    else
      several_at_once = true;
  }
  uint64_t entry_ = 0;
  std::mutex mutex_;
};

TEST_P(ObserverTest, ThoseWhoWantOrderSeeTheSameOneWithAnyNumberOfWorkers) {
  constexpr uint32_t groups = 24;
  std::vector<InOrder::Step> first;
  for (const unsigned workers : {1u, 2u, 4u, 16u, 16u}) {
    TestDevice other{GetParam(), workers};
    CodeObject &code =
        other.load(read_file(std::string(FADE_KERNELS "/exec-kernels-") + GetParam() + ".hsaco"));
    auto arrived = other.allocate<uint32_t>(1);
    auto values = other.allocate<uint32_t>(groups), out = other.allocate<uint32_t>(groups);
    // Workgroups wait for each other.
    const Dispatch d = prepare(other, code, "meet", 64 * groups,
                               Arguments().add(arrived.va).add(values.va).add(out.va).add(groups));
    InOrder seen;
    other.executor().observe(&seen);
    EXPECT_EQ(other.executor().run(d).status, Status::ok);
    other.executor().observe(nullptr);
    EXPECT_FALSE(seen.other_workers || seen.several_at_once);
    EXPECT_GT(seen.steps.size(), groups);
    if (first.empty()) first = seen.steps;
    EXPECT_TRUE(seen.steps == first) << workers << " workers";
  }
}

INSTANTIATE_TEST_SUITE_P(, ObserverTest, testing::Values("gfx90a", "gfx1030"),
                         [](const auto &p) { return std::string(p.param); });

} // namespace
} // namespace fade::sim
