#include "launch.h"
#include "stages.h"

#include <cinttypes>
#include <cstdio>

namespace fade::probe {

std::string runFadeKernel() {
  constexpr uint32_t items = 1024, rounds = 3; // as in cli/doctor/fade_probe.cpp
  Runtime runtime;
  Device &device = runtime.devices().front();
  const Kernel kernel = device.kernel("fade_probe", "fade");
  const Buffer in(device, device.memory(), items * 4), out(device, device.memory(), items * 4);
  const Buffer counter(device, device.memory(), 4096);
  std::vector<uint32_t> values(items);
  for (uint32_t i = 0; i < items; ++i) values[i] = i * 2654435761u;
  fill<uint32_t>(device, in.as<uint32_t>(), values);
  fill<uint32_t>(device, counter.as<uint32_t>(), std::vector<uint32_t>(4));
  std::printf("place in 0x%" PRIxPTR "\nplace out 0x%" PRIxPTR "\nplace counter 0x%" PRIxPTR "\n",
              reinterpret_cast<uintptr_t>(in.as<char>()),
              reinterpret_cast<uintptr_t>(out.as<char>()),
              reinterpret_cast<uintptr_t>(counter.as<char>()));
  std::fflush(stdout);
  Queue queue(device);
  queue.launch(kernel, items,
               Arguments()
                   .add(in.as<uint32_t>())
                   .add(out.as<uint32_t>())
                   .add(counter.as<uint32_t>())
                   .add(rounds)
                   .bytes());
  queue.wait();
  const auto got = contents(device, out.as<uint32_t>(), items);
  for (uint32_t i = 0; i < items; ++i) {
    uint32_t sum = values[i / 64 * 64 + 63 - i % 64];
    for (uint32_t k = 0; k < rounds; ++k) sum += values[(i * 5 + k) & 1023];
    if (got[i] != sum) throw Failed("the kernel's result is wrong at " + std::to_string(i));
  }
  const auto counts = contents(device, counter.as<uint32_t>(), 4);
  if (counts != std::vector<uint32_t>{0, items / 4, 0, items / 4})
    throw Failed("the kernel's counters are wrong");
  return device.name();
}

} // namespace fade::probe
