// Decompression into memory that grows with what really comes out, never with what a header
// promises.
#pragma once

#include "codeobj/bytes.h"

namespace fade::codeobj {

/// An error says what is wrong and at which offset of the compressed bytes; the caller knows the
/// file.
using Inflated = Result<std::vector<uint8_t>>;

/// At most `limit` bytes; more is an error.
Inflated inflateZlib(ByteView compressed, uint64_t limit);
Inflated inflateZstd(ByteView compressed, uint64_t limit);

} // namespace fade::codeobj
