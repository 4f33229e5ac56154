// Runs the dispatch of a capture through the HSA runtime: on a card, or on the software GPU. Every
// region and the code lie where they lay when it was captured.
#pragma once

#include "codeobj/code_object.h"
#include "replay/comparison.h"
#include "replay/hostcalls.h"
#include "replay/hsa/hsa_library.h"
#include "replay/hsa/steering.h"

#include <memory>
#include <string>
#include <vector>

namespace fade::replay {

/// What a capture needs, for holdRanges().
std::vector<Range> rangesOf(const capture::Description &description);

class HsaMachine {
public:
  /// The ranges are held.
  static Result<std::unique_ptr<HsaMachine>> create(capture::Reader &reader, Memory &memory);
  ~HsaMachine();
  HsaMachine(const HsaMachine &) = delete;
  HsaMachine &operator=(const HsaMachine &) = delete;

  /// Memory as captured again.
  Status restore();
  /// Runs it on the memory as it is: seconds.
  Result<double> run();
  /// Reads back what is different from what was captured.
  Result<Outcome> outcome();

  const std::string &name() const { return name_; } ///< of the GPU
  std::string hostcallSummary() const { return hostcalls_ ? hostcalls_->summary() : ""; }
  std::optional<std::size_t> hostcallRegion() const { return hostcall_region_; }

private:
  HsaMachine(capture::Reader &reader, Memory &memory) : reader_(reader), memory_(memory) {}
  Status findAgents();
  Status loadCode();
  Status place(std::size_t region);
  Status prepareArguments();
  Error wrong(const std::string &what) const { return {reader_.folder(), "", 0, what}; }
  Error failed(const std::string &what, hsa_status_t status) const {
    return wrong(what + ": " + hsa_.text(status));
  }

  capture::Reader &reader_;
  Memory &memory_;
  HsaLibrary hsa_;
  std::string name_;
  hsa_agent_t gpu_{}, cpu_{};
  hsa_amd_memory_pool_t device_{}, host_{}, kernarg_{};
  std::size_t code_region_ = SIZE_MAX; ///< that the loader has filled
  hsa_queue_t *queue_ = nullptr;
  hsa_signal_t done_{}, doorbell_{};
  double tick_ = 1e-9;
  sim::AddressSpace space_; ///< addresses as they are
  std::unique_ptr<Hostcalls> hostcalls_;
  std::optional<std::size_t> hostcall_region_;
};

} // namespace fade::replay
