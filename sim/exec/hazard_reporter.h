// Missing wait states as lines on stderr, for runs that nobody else observes (FADE_GPU_HAZARDS).
#pragma once

#include <fade/observer.h>

#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace fade::sim {

/// FADE_GPU_HAZARDS=calls: wait states are also missed behind calls and returns.
bool looks_behind_calls();

class HazardReporter : public Observer {
public:
  uint32_t wants() const override { return kWantsHazards; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &dispatch,
                                          uint32_t workers) override;
  /// The line for a pair of instructions; empty if there was one already.
  std::string line(const ObservedDispatch &dispatch, const ObservedHazard &hazard);

private:
  std::mutex mutex_;
  std::set<std::pair<uint64_t, uint64_t>> said_;
};

} // namespace fade::sim
