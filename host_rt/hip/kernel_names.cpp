#include "hip/kernel_names.h"

#include "hip/recorder.h"
#include "hip/seen_numbers.h"

#include <atomic>

namespace fade::hip {
namespace {

using NameOfHost = const char *(*)(const void *function, void *stream);
using NameOfModule = const char *(*)(const void *function);
std::atomic<NameOfHost> name_of_host{nullptr};
std::atomic<NameOfModule> name_of_module{nullptr};

/// Addresses that were seen. When it is full, names of further ones are not recorded.
SeenNumbers<14, 32> seen;

bool isNew(const void *address) noexcept {
  const auto number = reinterpret_cast<uint64_t>(address);
  return seen.see(number, spreadBits(number)) == Seen::first;
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
