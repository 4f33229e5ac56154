// What a GPU can do at most: rates of memory levels and arithmetic, measured with kernels that do
// nothing else. Each is run several times, with more work until it takes long enough, and the best
// counts. A line on stdout for each: "peak TARGET NAME VALUE", per second; "peak TARGET card NAME".
#include "stages.h"

#include "launch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace fade::probe {
namespace {

constexpr uint64_t kItemsOfGroup = 64;

class Peaks {
public:
  Peaks(Device &device, double long_enough_s)
      : device_(device), long_enough_(long_enough_s), queue_(device),
        out_(device, device.memory(), uint64_t{4} << 20) {
    uint32_t units = 0;
    device.api().hsa_agent_get_info(
        device.agent(), static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
        &units);
    // Enough for every SIMD to have waves to turn to, and no more than `out_` has room for.
    items_ = static_cast<uint32_t>(
        std::min<uint64_t>(std::max(units, 1u) * 32 * kItemsOfGroup, out_.bytes() / 4));
  }

  void run();

private:
  /// Seconds of one launch, at best.
  double best(const Kernel &kernel, uint32_t items, std::span<const uint8_t> arguments, int times);
  /// Amounts per second; `amount` is that of one turn of one work-item.
  template <class F> double rate(const char *name, double amount, F &&arguments);
  void say(const char *name, double value) const {
    std::printf("peak %s %s %.6g\n", device_.name().c_str(), name, value);
    std::fflush(stdout); // whoever waits may end it any time
  }

  Device &device_;
  double long_enough_;
  Queue queue_;
  Buffer out_;
  uint32_t items_ = 0;
};

double Peaks::best(const Kernel &kernel, uint32_t items, std::span<const uint8_t> arguments,
                   int times) {
  using Clock = std::chrono::steady_clock;
  double least = 1e9;
  for (int i = 0; i < times; ++i) {
    const auto begin = Clock::now();
    queue_.launch(kernel, items, arguments);
    queue_.wait();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return least;
}

template <class F> double Peaks::rate(const char *name, double amount, F &&arguments) {
  const Kernel kernel = device_.kernel(name, "peaks");
  constexpr uint32_t most = 1 << 20;
  for (uint32_t turns = 4;; turns *= 4) {
    const Arguments all = arguments(turns);
    const double seconds = best(kernel, items_, all.bytes(), 1);
    if (seconds < long_enough_ && turns < most) continue;
    return amount * turns * items_ / best(kernel, items_, all.bytes(), 5);
  }
}

void Peaks::run() {
  char card[64] = {};
  device_.api().hsa_agent_get_info(
      device_.agent(), static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_PRODUCT_NAME), card);
  std::printf("peak %s card %s\n", device_.name().c_str(), card);
  auto *out = out_.as<float>();
  const auto chain = [&](uint32_t turns) { return Arguments().add(out).add(turns); };
  say("f32", rate("peak_f32", 8 * 2 * 2, chain));
  say("f16", rate("peak_f16", 8 * 2 * 2, chain));
  say("f64", rate("peak_f64", 8 * 2, chain));
  say("lds", rate("peak_lds", 4 * 16, chain));
  // More than any cache has, as much as every L2 has, and as much as every L1 has.
  for (const auto &[name, bytes] :
       {std::pair("memory", uint64_t{1} << 30), std::pair("l2", uint64_t{1} << 20),
        std::pair("l1", uint64_t{8} << 10)}) {
    uint64_t size = bytes;
    if (long_enough_ == 0) size = std::min(size, uint64_t{1} << 20); // only tried
    const Buffer from(device_, device_.memory(), size);
    const auto mask = static_cast<uint32_t>(size / 16 - 1);
    const uint32_t step = items_ & mask ? items_ & mask : static_cast<uint32_t>(kItemsOfGroup);
    say(name, rate("peak_read", 4 * 16, [&](uint32_t turns) {
          return Arguments().add(from.as<float>()).add(out).add(turns).add(mask).add(step);
        }));
  }
  const Kernel empty = device_.kernel("peak_empty", "peaks");
  const double once = best(empty, 64, Arguments().add(out).bytes(), 20);
  say("launch_ns", once * 1e9);
}

} // namespace

std::string measurePeaks(bool only_tried) {
  Runtime runtime;
  std::string text;
  for (Device &device : runtime.devices()) {
    Peaks(device, only_tried ? 0 : 0.005).run();
    text += (text.empty() ? "" : ", ") + device.name();
  }
  std::fflush(stdout);
  return text;
}

} // namespace fade::probe
