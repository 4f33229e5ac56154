#include "hsa/executed.h"

#include <dlfcn.h>
#include <mutex>
#include <unordered_map>

namespace fade {
namespace {

using Told = void (*)(uint64_t signal, uint64_t waves, uint64_t lanes);

// Signals of dispatches that are not FADE's are never asked for.
constexpr std::size_t kMostKept = 1 << 16;

struct Kept {
  std::mutex mutex;
  std::unordered_map<uint64_t, Executed> by_signal;
};
Kept &kept() {
  static auto *all = new Kept; // the GPU's threads live longer than exit handlers
  return *all;
}

void keep(uint64_t signal, uint64_t waves, uint64_t lanes) {
  try {
    const std::lock_guard lock(kept().mutex);
    if (kept().by_signal.size() >= kMostKept) kept().by_signal.clear();
    kept().by_signal[signal] = {waves, lanes};
  } catch (...) { // a dispatch without a count
  }
}

} // namespace

bool isSoftwareGpu() {
  static const bool is = dlsym(RTLD_DEFAULT, "fadegpu_on_dispatch") != nullptr;
  return is;
}

void keepExecuted() {
  if (const auto tell =
          reinterpret_cast<void (*)(Told)>(dlsym(RTLD_DEFAULT, "fadegpu_on_dispatch")))
    tell(keep);
}

std::optional<Executed> takeExecuted(uint64_t signal) {
  const std::lock_guard lock(kept().mutex);
  const auto at = kept().by_signal.find(signal);
  if (at == kept().by_signal.end()) return std::nullopt;
  const Executed executed = at->second;
  kept().by_signal.erase(at);
  return executed;
}

} // namespace fade
