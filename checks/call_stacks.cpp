#include "checks/call_stacks.h"

#include <string_view>

namespace fade::checks {
namespace {

constexpr std::size_t kDeepest = 64; ///< calls of a wave that are followed

} // namespace

StackId CallStacks::within(StackId caller, uint64_t call) {
  const std::lock_guard lock(mutex_);
  for (StackId i = 1; i < count_; ++i)
    if (stacks_[i].caller == caller && stacks_[i].call == call) return i;
  if (count_ == kMost) return caller;
  stacks_[count_] = {caller, call};
  return count_++;
}

std::size_t CallStacks::calls(StackId stack, std::span<uint64_t> to) const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (; stack != 0 && stack < count_ && count < to.size(); stack = stacks_[stack].caller)
    to[count++] = stacks_[stack].call;
  return count;
}

CallDecoder::CallDecoder(const ObservedMemory &memory, const char *gpu) : memory_(memory) {
  const std::string_view name = gpu;
  const bool is_10 = name.starts_with("gfx10"), is_11_up = !is_10 && name.starts_with("gfx1");
  swap_ = is_11_up ? 0x49 : is_10 ? 0x21 : 0x1e;
  call_ = is_11_up ? 0x14 : is_10 ? 0x16 : 0x15;
}

bool CallDecoder::isCall(uint64_t pc) {
  Known &known = known_[pc / 4 % known_.size()];
  if (known.pc == pc) return known.is_call;
  uint32_t word = 0;
  if (!memory_.read(pc, &word, sizeof word)) return false;
  constexpr uint32_t sop1 = 0x17d, sopk = 0xb; // the bits that tell encodings apart
  known.pc = pc;
  known.is_call = (word >> 23 == sop1 && (word >> 8 & 0xff) == swap_) ||
                  (word >> 28 == sopk && (word >> 23 & 0x1f) == call_);
  return known.is_call;
}

void WaveCalls::branch(const ObservedBranch &branch, CallDecoder &decoder, CallStacks &stacks) {
  if (!branch.taken) return;
  if (decoder.isCall(branch.pc)) {
    constexpr uint64_t size = 4; // of a call
    if (frames_.size() == kDeepest) return;
    frames_.push_back({branch.pc + size, now_});
    now_ = stacks.within(now_, branch.pc);
    return;
  }
  // A function that ends with a call leaves by way of the one that it called.
  for (std::size_t i = frames_.size(); i-- > 0;)
    if (frames_[i].returns_to == branch.target) {
      now_ = frames_[i].caller;
      frames_.resize(i);
      return;
    }
}

} // namespace fade::checks
