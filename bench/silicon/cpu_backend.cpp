// Waves as threads: each thread runs one wave after the other with RingWriter and the reference
// encoder in the place of the device runtime.
#include "backend.h"

#include "fade/encode.h"
#include "fade/ring_writer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace fade::silicon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kSharedBase = 0xfade0003u, kPrivateBase = 0xfade0005u;

uint64_t now() { return static_cast<uint64_t>(Clock::now().time_since_epoch().count()); }

// One wave: the calls of pattern.h, as the runtime would act on them.
class Wave {
public:
  Wave(fade_control &control, const emit_plan &plan, uint32_t number)
      : control_(control), plan_(plan), writer_(control), number_(number),
        group_(number / plan.waves_per_group) {}

  void run() {
    if (!isTraced()) return;
    begin();
    for (uint32_t i = 0; i < plan_.calls; ++i)
      call(emit_at(plan_.seed, plan_.kinds, plan_.shapes, plan_.masks, number_, i), i);
    RecordEncoder encoder;
    encoder.waveEnd({{plan_.kernel_index, 0, 0, 0}, 0xffffffffu, now(), wave_, 0, now()});
    writer_.write(encoder.bytes());
  }

private:
  bool isTraced() const {
    const uint32_t n = control_.sample_workgroups;
    return control_.first_workgroup[0] <= group_ && group_ <= control_.last_workgroup[0] &&
           (n <= 1 || group_ % n == 0);
  }

  void begin() {
    wave_ = writer_.nextWave();
    fade_wave_begin w{};
    w.header = {plan_.kernel_index, 0, 0, FADE_WAVE_IS_WAVE32};
    w.mask = 0xffffffffu;
    w.clock = w.time = now();
    w.wave = wave_;
    w.work_item = number_ % plan_.waves_per_group * EMIT_WAVE_SIZE;
    w.module = plan_.module;
    w.workgroup_x = group_;
    w.shared_base = kSharedBase;
    w.private_base = kPrivateBase;
    RecordEncoder encoder;
    encoder.waveBegin(w);
    writer_.write(encoder.bytes());
  }

  void call(const emit_call &c, uint32_t site) {
    if (c.kind == EMIT_COUNT) return count(c, site);
    uint64_t mask = c.mask;
    std::array<uint64_t, EMIT_WAVE_SIZE> addresses{};
    detail::forEachBit(c.mask, [&](uint32_t lane) {
      addresses[lane] = address(c, lane);
      if (isPrivate(c, lane)) mask &= ~(uint64_t{1} << lane);
    });
    if (c.kind == EMIT_SPLIT || c.kind == EMIT_SPLIT_BLOCK) return split(c, site, addresses);
    if (mask == 0 || !isSampled(site)) return;
    RecordEncoder encoder;
    switch (c.kind) {
    case EMIT_BLOCK: encoder.block(site, wave_, mask, now()); break;
    case EMIT_RANGE:
    case EMIT_RANGE_FLAT:
    case EMIT_LENGTHS: return ranges(c, site, mask, addresses);
    default: encoder.access(site, wave_, mask, addresses);
    }
    writer_.write(encoder.bytes());
  }

  // Lanes with the same length share a record.
  void ranges(const emit_call &c, uint32_t site, uint64_t mask,
              std::span<const uint64_t> addresses) {
    while (mask != 0) {
      const uint64_t length = emit_length(c, static_cast<uint32_t>(std::countr_zero(mask)));
      uint64_t same = 0;
      detail::forEachBit(mask, [&](uint32_t lane) {
        if (emit_length(c, lane) == length) same |= uint64_t{1} << lane;
      });
      mask &= ~same;
      if (length == 0) continue;
      RecordEncoder encoder;
      encoder.access(site, wave_, same, addresses, length);
      writer_.write(encoder.bytes());
    }
  }

  void split(const emit_call &c, uint32_t site, std::span<const uint64_t> addresses) {
    for (uint32_t way = 0; way < 2; ++way) {
      uint64_t lanes = 0;
      detail::forEachBit(c.mask, [&](uint32_t lane) {
        if (emit_way(c, lane) == way) lanes |= uint64_t{1} << lane;
      });
      if (lanes == 0) continue;
      RecordEncoder encoder;
      if (c.kind == EMIT_SPLIT)
        encoder.access(site + way * plan_.calls, wave_, lanes, addresses);
      else
        encoder.block(site + way * plan_.calls, wave_, lanes, now());
      writer_.write(encoder.bytes());
    }
  }

  void count(const emit_call &c, uint32_t site) {
    if (control_.counters == 0) return;
    fade_counter &counter = counters()[site % EMIT_COUNTERS];
    const auto lanes = static_cast<uint64_t>(std::popcount(c.mask));
    __atomic_fetch_add(&counter.entries, uint64_t{1}, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counter.more_lanes, lanes - 1, __ATOMIC_RELAXED);
  }

  bool isSampled(uint32_t site) {
    if ((control_.flags & FADE_CONTROL_SAMPLE_EXECUTIONS) == 0) return true;
    const uint64_t n = __atomic_fetch_add(&counters()[site].entries, uint64_t{1}, __ATOMIC_RELAXED);
    return n % control_.sample_executions == 0;
  }

  static bool isPrivate(const emit_call &c, uint32_t lane) {
    return (c.kind == EMIT_SPACES || c.kind == EMIT_RANGE_FLAT) && emit_space(c, lane) == 5;
  }
  uint64_t address(const emit_call &c, uint32_t lane) const {
    switch (c.kind) {
    case EMIT_FLAT: return plan_.region + emit_region_offset(c, lane);
    case EMIT_SPACES:
    case EMIT_RANGE_FLAT:
      if (emit_space(c, lane) == 3)
        return uint64_t{kSharedBase} << 32 | (plan_.shared_offset + 4 * lane);
      return plan_.region + emit_region_offset(c, lane);
    default: return emit_address(c, lane);
    }
  }
  fade_counter *counters() const { return reinterpret_cast<fade_counter *>(control_.counters); }

  fade_control &control_;
  const emit_plan &plan_;
  RingWriter writer_;
  const uint32_t number_, group_;
  uint32_t wave_ = 0;
};

class CpuLaunch : public Launch {
public:
  CpuLaunch(fade_control *control, const emit_plan &plan, Grid grid, uint32_t threads)
      : waves_(grid.waves()), start_(Clock::now()) {
    for (uint32_t t = 0; t < std::min(threads, waves_); ++t)
      threads_.emplace_back([this, control, &plan] {
        for (uint32_t n; (n = next_.fetch_add(1)) < waves_;) {
          if (control) Wave(*control, plan, n).run();
          if (ended_.fetch_add(1) + 1 == waves_) end_ = Clock::now();
        }
        left_.fetch_add(1, std::memory_order_release);
      });
  }
  ~CpuLaunch() override {
    for (auto &thread : threads_) thread.join();
  }
  bool isDone() override { return left_.load(std::memory_order_acquire) == threads_.size(); }
  double seconds() override { return std::chrono::duration<double>(end_ - start_).count(); }

private:
  const uint32_t waves_;
  const Clock::time_point start_;
  Clock::time_point end_;
  std::atomic<uint32_t> next_{0}, ended_{0};
  std::atomic<std::size_t> left_{0};
  std::vector<std::thread> threads_;
};

// A copy happens when somebody asks whether it is done for the second time: as late as it may, and
// while waves go on writing. Word by word, so that ThreadSanitizer sees each of them.
class LateCopies : public CopyEngine {
public:
  bool start(unsigned slot, void *to, uint64_t from, std::size_t size) noexcept override {
    copies_[slot] = {to, from, size, 2};
    return true;
  }
  bool isDone(unsigned slot) noexcept override {
    Copy &copy = copies_[slot];
    if (copy.left == 0) return true;
    if (--copy.left != 0) return false;
    auto *to = static_cast<uint64_t *>(copy.to);
    auto *from = reinterpret_cast<uint64_t *>(copy.from);
    for (std::size_t i = 0; i < copy.size / sizeof *to; ++i)
      to[i] = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
    return true;
  }

private:
  struct Copy {
    void *to = nullptr;
    uint64_t from = 0;
    std::size_t size = 0;
    unsigned left = 0;
  };
  std::array<Copy, kSlots> copies_;
};

class CpuBackend : public Backend {
public:
  const char *name() const override { return "cpu"; }
  std::string device() const override {
    return std::to_string(std::thread::hardware_concurrency()) + " CPU threads";
  }
  uint32_t fullGroups() const override { return 4; }

  Memory allocate(Place, std::size_t size) override {
    // Zero and page by page: a large ring costs what is used of it.
    void *at = std::calloc((size + 255) / 128, 128);
    if (!at) throw Error("no memory for " + std::to_string(size) + " bytes");
    const auto address = (reinterpret_cast<uint64_t>(at) + 127) & ~uint64_t{127};
    owned_.push_back({address, at});
    return {reinterpret_cast<std::byte *>(address), address, size};
  }
  void release(const Memory &memory) override {
    const auto at = std::find_if(owned_.begin(), owned_.end(),
                                 [&](const auto &o) { return o.address == memory.device; });
    std::free(at->allocated);
    owned_.erase(at);
  }
  void write(uint64_t to, const void *from, std::size_t size) override {
    std::memcpy(reinterpret_cast<void *>(to), from, size);
  }
  void read(void *to, uint64_t from, std::size_t size) override {
    std::memcpy(to, reinterpret_cast<const void *>(from), size);
  }
  void fill(uint64_t to, uint8_t value, std::size_t size) override {
    std::memset(reinterpret_cast<void *>(to), value, size);
  }
  bool peek(void *to, uint64_t from, std::size_t size) override {
    auto *words = reinterpret_cast<uint64_t *>(from);
    for (std::size_t i = 0; i < size / 8; ++i)
      static_cast<uint64_t *>(to)[i] = __atomic_load_n(words + i, __ATOMIC_RELAXED);
    return true;
  }

  std::unique_ptr<Launch> emit(Emitter, uint64_t control, uint64_t plan, Grid grid) override {
    const uint32_t threads = std::max(8u, 2 * std::thread::hardware_concurrency());
    return std::make_unique<CpuLaunch>(reinterpret_cast<fade_control *>(control),
                                       *reinterpret_cast<const emit_plan *>(plan), grid, threads);
  }
  std::unique_ptr<CopyEngine> makeCopyEngine() override { return std::make_unique<LateCopies>(); }

private:
  struct Owned {
    uint64_t address;
    void *allocated;
  };
  std::vector<Owned> owned_;
};

} // namespace

std::unique_ptr<Backend> makeCpuBackend() { return std::make_unique<CpuBackend>(); }

} // namespace fade::silicon
