// From where calls are made, as host events: addresses only, which are resolved when the trace is
// read, and the frames of a Python interpreter.
#pragma once

#include "hip/seen_numbers.h"

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
extern SeenNumbers<14, 8> callers;
void addCaller(uint64_t key, uint16_t function, const void *address) noexcept;

/// Records from where a function is called, the first time it is from there.
inline void noteCaller(uint16_t function, const void *address) noexcept {
  const uint64_t key = (reinterpret_cast<uint64_t>(address) << 12) ^ (uint64_t{function} + 1);
  if (!callers.isAtOnce(key, spreadBits(key))) [[unlikely]]
    addCaller(key, function, address);
}

} // namespace fade::hip
