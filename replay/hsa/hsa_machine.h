// Runs the dispatch of a capture through the HSA runtime: on a card, or on the software GPU. Every
// region and the code lie where they lay when it was captured.
#pragma once

#include "replay/comparison.h"
#include "replay/hostcalls.h"
#include "replay/hsa/faults.h"
#include "replay/hsa/hsa_library.h"
#include "replay/hsa/steering.h"
#include "replay/other_kernel.h"

#include <memory>
#include <optional>
#include <set>
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

  /// Loads another version of the kernel, wherever there is room, and runs that from now on. The
  /// captured code stays where it is; variables are carried over by name, and back.
  Status useCode(const std::string &path);
  /// The captured one, or the one that was loaded.
  void useOther(bool other) { uses_other_ = other && other_; }

  /// Memory as captured again: all of it, or the pages that runs are known to write. What they were
  /// given for the heap is taken back.
  Status restore();
  /// After a run: from now on only pages that it has changed, or others before it, or the captured
  /// dispatch, are restored.
  Status learnWritten();
  /// After the last run: how many pages were changed besides, and not restored in between. If there
  /// are any, all of memory is restored from now on.
  Result<uint64_t> changedBesides();
  /// A run that takes longer ends the process, for the GPU cannot be stopped. 0: none does.
  void setTimeout(double seconds) { timeout_ = seconds; }
  /// Runs it on the memory as it is: seconds.
  Result<double> run();
  /// Reads back what is different from what was captured.
  Result<Outcome> outcome();

  const std::string &name() const { return name_; } ///< of the GPU
  std::string otherNote() const { return other_ ? other_->kernel.note() : ""; }
  std::string noteOnDifferences() const { return other_ ? other_->kernel.noteOnDifferences() : ""; }
  std::string hostcallSummary() const { return hostcalls_ ? hostcalls_->summary() : ""; }
  std::optional<std::size_t> hostcallRegion() const { return hostcall_region_; }
  /// Where the device's malloc() has its lists, and if the heap has grown, its memory: what lies
  /// where then depends on when the host gives it more.
  std::vector<Extent> heap() const {
    return captured_.heap(reader_.description(), memory_,
                          hostcalls_ && hostcalls_->hasGivenMemory());
  }

private:
  HsaMachine(capture::Reader &reader, Memory &memory) : reader_(reader), memory_(memory) {}
  Status findAgents();
  Status loadCode();
  /// The address of the kernel of that name.
  Result<uint64_t> load(std::span<const uint8_t> bytes, Range wished, const std::string &kernel);
  Status prepareCooperative();
  /// Memory for arguments that the GPU can read.
  Result<void *> argumentMemory(std::size_t size);
  uint64_t heapMemory(uint64_t size);
  /// For another version that prints, though the captured one did not.
  Status giveHostcalls(std::vector<uint8_t> &arguments, uint32_t at);
  hsa_kernel_dispatch_packet_t packetOf() const;
  void submit(hsa_kernel_dispatch_packet_t packet);
  void waitForEnd() const;
  Status carryVariables(bool back);
  Status restore(std::size_t region, uint64_t first, uint64_t pages);
  void patchHidden(codeobj::ArgKind kind, uint64_t value);
  Status place(std::size_t region);
  Status prepareArguments();
  /// Bytes of the region that the runtime knows, and copies.
  uint64_t sizeOf(std::size_t region) const;
  Error wrong(const std::string &what) const { return {reader_.folder(), "", 0, what}; }
  Error failed(const std::string &what, hsa_status_t status) const {
    return wrong(what + ": " + hsa_.text(status));
  }

  capture::Reader &reader_;
  Memory &memory_;
  HsaLibrary hsa_;
  Faults faults_{hsa_, reader_, memory_};
  std::string name_;
  hsa_agent_t gpu_{}, cpu_{};
  hsa_amd_memory_pool_t device_{}, host_{}, kernarg_{};
  CapturedKernel captured_;
  struct Other {
    OtherKernel kernel;
    uint64_t object = 0;     ///< address of its descriptor
    void *kernarg = nullptr; ///< null: the captured arguments fit
    struct Variable {
      uint64_t captured = 0, here = 0, size = 0;
    };
    std::vector<Variable> variables;
  };
  std::optional<Other> other_;
  struct {
    uint64_t object = 0; ///< 0: it is not a cooperative launch
    void *kernarg = nullptr;
  } cooperative_;                           ///< the kernel that goes before each launch
  std::optional<std::set<PageId>> written_; ///< none: not known
  bool uses_other_ = false;
  uint32_t private_base_ = 0, shared_base_ = 0; ///< of the queue
  std::size_t code_region_ = SIZE_MAX;          ///< that the loader has filled
  uint64_t code_size_ = 0;                      ///< that it has there: perhaps not whole pages
  hsa_queue_t *queue_ = nullptr;
  hsa_signal_t done_{}, doorbell_{};
  double tick_ = 1e-9;
  double timeout_ = 0;
  sim::AddressSpace space_; ///< addresses as they are
  std::unique_ptr<Hostcalls> hostcalls_;
  /// Memory for the heap that the last run was given, and the one before it: freed only then, so
  /// that two runs never get the same addresses, and pointers to it count as not deterministic.
  std::vector<void *> given_, given_before_;
  std::optional<std::size_t> hostcall_region_;
};

} // namespace fade::replay
