#include "parquet/encodings.h"

#include "parquet/thrift.h"

#include <algorithm>
#include <array>
#include <bit>

namespace fade::parquet {
namespace {

/// Numbers of `bits` each, one behind the other, the lowest bit first; filled up to a byte.
template <class T> void appendPacked(std::string &to, std::span<const T> values, unsigned bits) {
  if (bits == 0) return;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  uint64_t pending = 0;
  unsigned filled = 0; // bits in `pending`, below 64
  for (const T each : values) {
    const uint64_t value = static_cast<uint64_t>(each) & mask;
    pending |= value << filled;
    if (filled + bits >= 64) {
      for (unsigned i = 0; i < 64; i += 8) to.push_back(static_cast<char>(pending >> i));
      const unsigned used = 64 - filled;
      pending = used == 64 ? 0 : value >> used;
      filled = bits - used;
    } else {
      filled += bits;
    }
  }
  for (unsigned i = 0; i < filled; i += 8) to.push_back(static_cast<char>(pending >> i));
}

/// Whole groups of eight; the last one is filled up.
void appendGroups(std::string &to, std::span<const uint32_t> values, unsigned bits) {
  if (values.empty()) return;
  const std::size_t groups = (values.size() + 7) / 8;
  appendVarint(to, groups << 1 | 1);
  const std::size_t before = to.size();
  appendPacked(to, values, bits);
  to.resize(before + groups * bits, '\0');
}

/// The low bits as a signed number of that width.
uint64_t extended(uint64_t value, unsigned width) {
  return width == 32 ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)))
                     : value;
}

} // namespace

unsigned bitsFor(uint64_t largest) { return static_cast<unsigned>(std::bit_width(largest)); }

void appendHybrid(std::string &to, std::span<const uint32_t> values, unsigned bits) {
  constexpr std::size_t shortest = 8;
  std::size_t packed_from = 0, at = 0; // values before `at` from `packed_from` on are to be packed
  while (at < values.size()) {
    std::size_t end = at + 1;
    while (end < values.size() && values[end] == values[at]) ++end;
    // Packed values come in groups of eight: a run gives up what the last group lacks.
    const std::size_t lacking = (8 - (at - packed_from) % 8) % 8;
    if (end - at < shortest + lacking) {
      at = end;
      continue;
    }
    appendGroups(to, values.subspan(packed_from, at - packed_from + lacking), bits);
    appendVarint(to, (end - at - lacking) << 1);
    for (unsigned i = 0; i < bits; i += 8) to.push_back(static_cast<char>(values[at] >> i));
    at = packed_from = end;
  }
  appendGroups(to, values.subspan(packed_from), bits);
}

void appendDeltas(std::string &to, std::span<const int64_t> values, unsigned width) {
  constexpr std::size_t block = 128, parts = 4, part = block / parts;
  appendVarint(to, block);
  appendVarint(to, parts);
  appendVarint(to, values.size());
  appendZigzag(to, values.empty() ? 0 : values[0]);
  for (std::size_t begin = 1; begin < values.size(); begin += block) {
    const std::size_t count = std::min(block, values.size() - begin);
    std::array<uint64_t, block> deltas{};
    int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < count; ++i) { // which may wrap around, and do so back again
      deltas[i] = extended(static_cast<uint64_t>(values[begin + i]) -
                               static_cast<uint64_t>(values[begin + i - 1]),
                           width);
      least = std::min(least, static_cast<int64_t>(deltas[i]));
    }
    appendZigzag(to, least);
    std::array<unsigned, parts> bits{};
    for (std::size_t i = 0; i < count; ++i) {
      deltas[i] -= static_cast<uint64_t>(least);
      bits[i / part] = std::max(bits[i / part], bitsFor(deltas[i]));
    }
    for (const unsigned each : bits) to.push_back(static_cast<char>(each));
    for (std::size_t p = 0; p * part < count; ++p)
      appendPacked(to, std::span<const uint64_t>(deltas).subspan(p * part, part), bits[p]);
  }
}

} // namespace fade::parquet
