// An observer of the software GPU: which instructions move the most bytes, of any kernel as it is.
//   FADE_GPU_OBSERVER=libbusiest_lines.so LD_PRELOAD=libfadegpu.so ./app
#include <fade/observer.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

struct Worker : fade::WorkerObserver { // one per worker thread: no locks
  std::map<uint64_t, uint64_t> bytes;  // by the instruction's address
  void access(const fade::ObservedWave &, const fade::ObservedAccess &a) override {
    if (a.space == fade::AccessSpace::global)
      bytes[a.pc] += uint64_t{a.size} * static_cast<unsigned>(std::popcount(a.lanes));
  }
};

struct Dispatch : fade::DispatchObserver {
  Dispatch(const fade::ObservedDispatch &d, uint32_t n)
      : kernel(d.kernel), entry(d.entry), workers(n) {}
  fade::WorkerObserver *worker(uint32_t n) override { return &workers[n]; }
  void end(const fade::ObservedEnd &) override { // all of it is over: add up
    std::map<uint64_t, uint64_t> total;
    for (const Worker &w : workers)
      for (const auto &[pc, bytes] : w.bytes) total[pc] += bytes;
    std::vector<std::pair<uint64_t, uint64_t>> order(total.begin(), total.end());
    std::ranges::sort(order, [](auto &a, auto &b) { return a.second > b.second; });
    for (size_t i = 0; i < std::min<size_t>(order.size(), 3); ++i)
      std::fprintf(stderr, "%s+0x%llx: %llu bytes\n", kernel.c_str(),
                   static_cast<unsigned long long>(order[i].first - entry),
                   static_cast<unsigned long long>(order[i].second));
  }
  std::string kernel;
  uint64_t entry;
  std::vector<Worker> workers;
};

struct BusiestLines : fade::Observer {
  uint32_t wants() const override { return fade::kWantsAccesses; }
  std::unique_ptr<fade::DispatchObserver> begin(const fade::ObservedDispatch &d,
                                                uint32_t workers) override {
    return std::make_unique<Dispatch>(d, workers);
  }
};

} // namespace

extern "C" __attribute__((visibility("default"))) fade::Observer *
fade_observer(uint32_t version, const char *, const fade::ObservedMemory *) {
  return version == FADE_OBSERVER_VERSION ? new BusiestLines : nullptr;
}
