// A GPU without a driver: runs the dispatch of a capture on the software GPU's executor.
#pragma once

#include "device/code_object.h"
#include "device/observer_library.h"
#include "exec/executor.h"
#include "replay/hostcalls.h"
#include "replay/memory.h"
#include "replay/other_kernel.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fade::replay {

/// One run of the kernel.
struct Execution {
  double seconds = 0;
  uint64_t instructions = 0;
};

class Machine {
public:
  /// `workers`: threads; 0: one per core.
  static Result<std::unique_ptr<Machine>> create(capture::Reader &reader, Memory &memory,
                                                 unsigned workers);
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  /// Runs the kernel of this code object from now on instead of the captured one. The captured code
  /// stays where it is, for pointers to functions; variables are carried over by name.
  Status loadCode(const std::string &path);
  /// The captured one, or the one that was loaded.
  void useOther(bool other) { uses_other_ = other && other_; }

  /// Runs that take longer are ended, and fail. 0: none is.
  void setTimeout(double seconds) { timeout_ = seconds; }

  /// Memory as captured again. What runs were given for the heap is taken back; the next one gets
  /// it elsewhere, so pointers to it count as not deterministic.
  void restore();
  /// Runs the dispatch on the memory as it is.
  Result<Execution> run();
  /// What the kernel asked of the host, for people; empty if nothing.
  std::string hostcallSummary() const;
  std::string otherNote() const { return other_ ? other_->kernel.note() : ""; }
  std::string noteOnDifferences() const { return other_ ? other_->kernel.noteOnDifferences() : ""; }
  /// Regions that others than the kernel write: not to be compared.
  std::optional<std::size_t> hostcallRegion() const;
  /// Where the device's malloc() has its lists, and if the heap has grown, its memory: what lies
  /// where then depends on when the host gives it more.
  std::vector<Extent> heap() const {
    return captured_.heap(reader_.description(), memory_,
                          hostcalls_ && hostcalls_->hasGivenMemory());
  }

  sim::Executor &executor() { return *executor_; }

private:
  Machine(capture::Reader &reader, Memory &memory) : reader_(reader), memory_(memory) {}
  Status prepare(unsigned workers);
  Status prepareArguments();
  void patchHidden(codeobj::ArgKind kind, uint64_t value);
  uint64_t gap(uint64_t size);
  void makePacket(sim::Dispatch &dispatch);
  /// Zeroed memory, where the kernel has nothing; null if there is none left.
  struct Block {
    struct Free {
      void operator()(std::byte *bytes) const { std::free(bytes); }
    };
    uint64_t address = 0, size = 0;
    std::unique_ptr<std::byte, Free> memory;
  };
  Block makeBlock(uint64_t size);
  uint64_t giveMemory(uint64_t size);
  /// For another version that prints, though the captured one did not.
  void giveHostcalls(std::vector<uint8_t> &arguments, uint32_t at);
  Status loadOther();
  void carryVariables(bool back);

  /// Another version of the kernel.
  struct Other {
    OtherKernel kernel;
    uint64_t address = 0; ///< where it is loaded
    std::unique_ptr<sim::CodeObject> loaded;
    std::vector<uint8_t> arguments; ///< empty: the captured ones fit
  };

  capture::Reader &reader_;
  Memory &memory_;
  CapturedKernel captured_;
  std::unique_ptr<sim::MemoryForObservers> observed_; ///< for FADE_GPU_OBSERVER
  std::unique_ptr<sim::Executor> executor_;
  std::vector<Block> given_; ///< that the kernel asked for
  Block hostcall_buffer_;    ///< of another version that prints
  std::unique_ptr<Hostcalls> hostcalls_;
  std::optional<std::size_t> hostcall_region_;
  std::optional<Other> other_;
  bool uses_other_ = false;
  double timeout_ = 0;
  uint64_t next_gap_ = 0;
  uint64_t own_address_ = 0;
  alignas(64) std::array<std::byte, 4 * 4096> own_{}; ///< packet, queue, arguments
};

} // namespace fade::replay
