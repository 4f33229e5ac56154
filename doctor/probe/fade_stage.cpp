// The kernel of `--probe fade`, launched through HSA and through HIP, and with as many records as a
// measurement needs. What it computes is checked here, its records in cli/doctor/fade_probe.cpp.
#include "hip_library.h"
#include "launch.h"
#include "stages.h"

#include <array>
#include <cinttypes>
#include <cstdio>

namespace fade::probe {
namespace {

// As in cli/doctor/fade_probe.cpp.
constexpr uint32_t kProbeItems = 1024, kProbeRounds = 3, kGroup = 64;

std::vector<uint32_t> inputs(uint32_t items) {
  std::vector<uint32_t> values(items);
  for (uint32_t i = 0; i < items; ++i) values[i] = i * 2654435761u;
  return values;
}

/// Throws Failed if the kernel computed something else.
void checkResults(const std::vector<uint32_t> &in, uint32_t rounds,
                  const std::vector<uint32_t> &out, const std::vector<uint32_t> &counters) {
  const auto items = static_cast<uint32_t>(in.size());
  for (uint32_t i = 0; i < items; ++i) {
    uint32_t sum = in[i / kGroup * kGroup + 63 - i % kGroup];
    for (uint32_t k = 0; k < rounds; ++k) sum += in[(i * 5 + k) & 1023];
    if (out[i] != sum) throw Failed("the kernel's result is wrong at " + std::to_string(i));
  }
  if (counters != std::vector<uint32_t>{0, items / 4, 0, items / 4})
    throw Failed("the kernel's counters are wrong");
}

void sayPlaces(const void *in, const void *out, const void *counter) {
  std::printf("place in 0x%" PRIxPTR "\nplace out 0x%" PRIxPTR "\nplace counter 0x%" PRIxPTR "\n",
              reinterpret_cast<uintptr_t>(in), reinterpret_cast<uintptr_t>(out),
              reinterpret_cast<uintptr_t>(counter));
  std::fflush(stdout);
}

std::string runThroughHsa(uint32_t items, uint32_t rounds) {
  Runtime runtime;
  Device &device = runtime.devices().front();
  const Kernel kernel = device.kernel("fade_probe", "fade");
  const Buffer in(device, device.memory(), items * 4), out(device, device.memory(), items * 4);
  const Buffer counter(device, device.memory(), 4096);
  const std::vector<uint32_t> values = inputs(items);
  fill<uint32_t>(device, in.as<uint32_t>(), values);
  fill<uint32_t>(device, counter.as<uint32_t>(), std::vector<uint32_t>(4));
  sayPlaces(in.as<char>(), out.as<char>(), counter.as<char>());
  Queue queue(device);
  queue.launch(kernel, items,
               Arguments()
                   .add(in.as<uint32_t>())
                   .add(out.as<uint32_t>())
                   .add(counter.as<uint32_t>())
                   .add(rounds)
                   .bytes());
  queue.wait();
  checkResults(values, rounds, contents(device, out.as<uint32_t>(), items),
               contents(device, counter.as<uint32_t>(), 4));
  return device.name();
}

} // namespace

std::string runFadeKernel() { return runThroughHsa(kProbeItems, kProbeRounds); }

std::string runFadeKernelOften(uint32_t rounds) { return runThroughHsa(16 * kProbeItems, rounds); }

std::string runFadeKernelWithHip() {
  std::string name;
  {
    Runtime runtime; // HIP's own structure with the name differs from version to version
    name = runtime.devices().front().name();
  }
  const auto code = codeFor("fade", name);
  if (code.empty()) throw Skipped("no kernel was built for " + name);
  const Hip hip;
  const auto load = hip.find<int (*)(void **, const void *)>("hipModuleLoadData");
  const auto get = hip.find<int (*)(void **, void *, const char *)>("hipModuleGetFunction");
  const auto launch =
      hip.find<int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void *, void **, void **)>("hipModuleLaunchKernel");
  void *module = nullptr, *kernel = nullptr;
  check(load(&module, code.data()), "hipModuleLoadData");
  check(get(&kernel, module, "fade_probe"), "hipModuleGetFunction");
  const std::vector<uint32_t> values = inputs(kProbeItems);
  auto *in = hip.upload(values), *out = hip.upload(std::vector<uint32_t>(kProbeItems));
  auto *counter = hip.upload(std::vector<uint32_t>(4));
  sayPlaces(in, out, counter);
  uint32_t rounds = kProbeRounds;
  std::array<void *, 4> arguments = {&in, &out, &counter, &rounds};
  check(launch(kernel, kProbeItems / kGroup, 1, 1, kGroup, 1, 1, 0, nullptr, arguments.data(),
               nullptr),
        "hipModuleLaunchKernel");
  check(hip.synchronize(), "hipDeviceSynchronize");
  checkResults(values, kProbeRounds, hip.download(out, kProbeItems), hip.download(counter, 4));
  return name;
}

} // namespace fade::probe
