// Decompression into memory that grows with what really comes out, never with what a header
// promises.
#pragma once

#include "codeobj/bytes.h"

namespace fade::codeobj {

struct InflateFailure {
  uint64_t offset = 0; ///< in the compressed bytes
  std::string what;
};
using Inflated = std::variant<std::vector<uint8_t>, InflateFailure>;

/// At most `limit` bytes; more is a failure.
Inflated inflateZlib(ByteView compressed, uint64_t limit);
Inflated inflateZstd(ByteView compressed, uint64_t limit);

} // namespace fade::codeobj
