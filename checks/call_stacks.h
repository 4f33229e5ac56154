// How a wave came to where it is: calls that were not inlined, so that a mistake in a function of
// HIP's headers can be shown at the line that called it.
//
// Stacks are kept as numbers: each is a call out of another one. A place in the code together with
// the stack is a "site": the address, which has 48 bits, and above it the number.
#pragma once

#include <fade/observer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace fade::checks {

using StackId = uint16_t; ///< 0: the kernel itself

constexpr unsigned kAddressBits = 48;
constexpr uint64_t siteOf(uint64_t pc, StackId stack) {
  return pc | static_cast<uint64_t>(stack) << kAddressBits;
}
constexpr uint64_t addressOf(uint64_t site) { return site & ((uint64_t{1} << kAddressBits) - 1); }
constexpr StackId stackOf(uint64_t site) { return static_cast<StackId>(site >> kAddressBits); }

/// All stacks of a dispatch, known to all of its workers.
class CallStacks {
public:
  static constexpr StackId kMost = 64; ///< as many as a mark of global memory can tell apart

  /// The stack within a call. If there are too many, the caller's: then the call is not shown.
  StackId within(StackId caller, uint64_t call);
  /// Addresses of the calls, the innermost first; as many as there is room for.
  std::size_t calls(StackId stack, std::span<uint64_t> to) const;

private:
  struct Stack {
    StackId caller;
    uint64_t call;
  };
  mutable std::mutex mutex_;
  std::array<Stack, kMost> stacks_{};
  StackId count_ = 1;
};

/// Which branches are calls. One per worker.
class CallDecoder {
public:
  CallDecoder(const ObservedMemory &memory, const char *gpu);
  bool isCall(uint64_t pc);

private:
  struct Known {
    uint64_t pc = 0;
    bool is_call = false;
  };
  const ObservedMemory &memory_;
  uint32_t swap_ = 0, call_ = 0; ///< opcodes of s_swappc_b64 and s_call_b64
  std::array<Known, 256> known_{};
};

/// Of one wave. Functions are called by a wave as a whole.
class WaveCalls {
public:
  void begin() { frames_.clear(), now_ = 0; }
  StackId now() const { return now_; }
  void branch(const ObservedBranch &branch, CallDecoder &decoder, CallStacks &stacks);

private:
  struct Frame {
    uint64_t returns_to;
    StackId caller;
  };
  std::vector<Frame> frames_;
  StackId now_ = 0;
};

} // namespace fade::checks
