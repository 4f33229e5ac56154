#include "exec/hazard_reporter.h"

#include "base/trace.h"

#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

namespace fade::sim {
namespace {

// Keeps nothing, so all workers can have the same.
class Dispatched : public DispatchObserver, WorkerObserver {
public:
  Dispatched(HazardReporter &reporter, const ObservedDispatch &dispatch)
      : reporter_(reporter), dispatch_(dispatch) {}
  WorkerObserver *worker(uint32_t) override { return this; }
  void hazard(const ObservedWave &, const ObservedHazard &hazard) override {
    const std::string line = reporter_.line(dispatch_, hazard);
    if (!line.empty()) say("%s", line.c_str());
  }

private:
  HazardReporter &reporter_;
  const ObservedDispatch &dispatch_;
};

} // namespace

bool looks_behind_calls() {
  static const bool looks = [] {
    const char *value = std::getenv("FADE_GPU_HAZARDS");
    return value && std::string_view(value) == "calls";
  }();
  return looks;
}

std::unique_ptr<DispatchObserver> HazardReporter::begin(const ObservedDispatch &dispatch,
                                                        uint32_t) {
  // The runtime's own kernels have no symbol. ROCr's copies, in assembly, lack wait states on
  // gfx942, and nobody who runs a program can change that.
  if (std::string_view(dispatch.kernel).starts_with("unnamed_")) return nullptr;
  return std::make_unique<Dispatched>(*this, dispatch);
}

std::string HazardReporter::line(const ObservedDispatch &dispatch, const ObservedHazard &h) {
  {
    const std::lock_guard lock(mutex_);
    if (!said_.emplace(h.first, h.pc).second) return "";
  }
  return fmt::format("{}: kernel {}: {:#x} comes too early behind {:#x}: {}: {} between them, {} "
                     "needed (fadeprobe check --checks hazard shows the lines)",
                     dispatch.gpu, dispatch.kernel, h.pc, h.first, h.rule, h.present, h.needed);
}

} // namespace fade::sim
