// A jump at the beginning of a function, and what it displaces: only bytes here, of either
// processor.
//
//   function:  jump to stub              stub:       jump to the wrapper
//              rest of the function  <-- stub + 16:  the displaced instructions, jump back
#pragma once

#include "base/result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fade::hip {

inline constexpr std::size_t kStubBytes = 64;
inline constexpr std::size_t kStubOriginal = 16; ///< where in the stub the function begins now

struct EntryCode {
  std::vector<uint8_t> entry; ///< to be stored at the function, at once
  std::vector<uint8_t> stub;
};

/// `code`: the function, as far as its end is known; what of it jumps back to the beginning is seen
/// only there. An error if it cannot be done, with the reason.
Result<EntryCode> entryCodeX86(std::span<const uint8_t> code, uint64_t function, uint64_t stub,
                               uint64_t wrapper);
Result<EntryCode> entryCodeArm64(std::span<const uint8_t> code, uint64_t function, uint64_t stub,
                                 uint64_t wrapper);

} // namespace fade::hip
