// All checks together, as an observer of one GPU.
#pragma once

#include "checks/options.h"

#include "base/selection.h"

#include <fade/observer.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace fade::checks {

class Checker : public Observer {
public:
  explicit Checker(const ObservedMemory &memory);

  uint32_t wants() const override {
    return kWantsAccesses | kWantsControl | (wantsRegisters(options_) ? kWantsRegisters : 0u) |
           (options_.has(Check::hazard) ? kWantsHazards : 0u) |
           (options_.has(Check::hang) ? kWantsHangs : 0u) |
           (options_.has(Check::race) ? kWantsOrder : 0u);
  }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &dispatch,
                                          uint32_t workers) override;
  void memoryWritten(uint64_t address, uint64_t size) override;
  void packetEnds(const ObservedPacket &packet) override;

private:
  static bool wantsRegisters(const Options &o) {
    return o.has(Check::wait) || o.has(Check::nan) || o.has(Check::precision);
  }
  /// Whether findings in this dispatch are wanted.
  bool isChosen(const ObservedDispatch &dispatch);

  const ObservedMemory &memory_;
  const Options &options_;
  const Selection selection_;
  std::mutex mutex_;
  std::map<std::string, uint64_t> dispatches_; ///< of each kernel, so far
};

} // namespace fade::checks
