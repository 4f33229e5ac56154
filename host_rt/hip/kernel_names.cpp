#include "hip/kernel_names.h"

#include "hip/recorder.h"

#include <array>
#include <atomic>

namespace fade::hip {
namespace {

using NameOfHost = const char *(*)(const void *function, void *stream);
using NameOfModule = const char *(*)(const void *function);
std::atomic<NameOfHost> name_of_host{nullptr};
std::atomic<NameOfModule> name_of_module{nullptr};

/// Addresses that were seen. When it is full, names of further ones are not recorded.
constexpr std::size_t kSlots = 1 << 14, kTries = 32;
std::array<std::atomic<const void *>, kSlots> seen;

bool isNew(const void *address) noexcept {
  std::size_t slot = (reinterpret_cast<uint64_t>(address) * 0x9e3779b97f4a7c15u) >> 50;
  for (std::size_t i = 0; i < kTries; ++i, slot = (slot + 1) % kSlots) {
    const void *there = seen[slot].load(std::memory_order_relaxed);
    if (there == address) return false;
    if (!there && seen[slot].compare_exchange_strong(there, address)) return true;
    if (there == address) return false; // another thread was quicker
  }
  return false;
}

} // namespace

void setNameFunctions(void *of_host_function, void *of_module_function) noexcept {
  name_of_host.store(reinterpret_cast<NameOfHost>(of_host_function));
  name_of_module.store(reinterpret_cast<NameOfModule>(of_module_function));
}

void noteLaunch(Launched kind, const void *address) noexcept {
  if (!address || !isNew(address)) return;
  const char *name = nullptr;
  ThreadLog *log = thread_log; // of a thread that has just recorded the launch
  if (log) log->asks_hip = true;
  if (kind == Launched::host_function) {
    if (const auto ask = name_of_host.load()) name = ask(address, nullptr);
  } else if (const auto ask = name_of_module.load()) {
    name = ask(address);
  }
  if (log) log->asks_hip = false;
  if (!name) return;
  events::FunctionEvent event{};
  event.header.kind = events::EventKind::function;
  event.address = reinterpret_cast<uint64_t>(address);
  event.name = recordText(name);
  (void)recordEvent(event);
}

} // namespace fade::hip
