// How Parquet writes the values of a column (Encodings.md of the format's specification).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace fade::parquet {

/// Bits that the numbers 0 to `largest` need.
unsigned bitsFor(uint64_t largest);

/// RLE / bit-packing hybrid, without a length before it: runs of at least eight equal numbers as
/// one number, all others packed, the lowest bit first. `bits`: 0 to 32.
void appendHybrid(std::string &to, std::span<const uint32_t> values, unsigned bits);

/// DELTA_BINARY_PACKED: differences of neighbors, 128 to a block, each of whose four parts takes
/// as many bits as its largest needs. Times and counters become a few bits each. `width`: of the
/// column's numbers, 32 or 64 bits.
void appendDeltas(std::string &to, std::span<const int64_t> values, unsigned width);

} // namespace fade::parquet
