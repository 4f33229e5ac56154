// From where calls are made, as host events: addresses only, which are resolved when the trace is
// read, and the frames of a Python interpreter.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fade::hip {

/// Frames of each call at most; 0: no stacks are recorded. Set before calls are.
extern unsigned stack_depth;

/// The stack of this thread, from whoever has called into FADE on. Returns its id in the events; 0
/// if there is none.
uint64_t recordStack(unsigned depth) noexcept;
/// `stack` may be 0.
void recordCallStack(uint64_t call, uint64_t stack) noexcept;

/// Places in the application that have called a function. A full table takes no more.
inline constexpr std::size_t kCallers = 1 << 14;
extern std::array<std::atomic<uint64_t>, kCallers> callers;
void addCaller(uint64_t key, std::size_t slot, uint16_t function, const void *address) noexcept;

/// Records from where a function is called, the first time it is from there.
inline void noteCaller(uint16_t function, const void *address) noexcept {
  const uint64_t key = (reinterpret_cast<uint64_t>(address) << 12) ^ (uint64_t{function} + 1);
  const std::size_t slot = (key * 0x9e3779b97f4a7c15u) >> 50;
  if (callers[slot].load(std::memory_order_relaxed) != key) [[unlikely]]
    addCaller(key, slot, function, address);
}

} // namespace fade::hip
