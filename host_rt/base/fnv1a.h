// FNV-1a with 64 bits: a hash that is the same everywhere and for good, unlike std::hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fade {

/// To go on with more bytes, begin with the hash of those before.
inline uint64_t fnv1a(std::span<const std::byte> bytes, uint64_t hash = 0xcbf29ce484222325) {
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

inline uint64_t fnv1a(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
  return fnv1a(std::as_bytes(std::span(text)), hash);
}

} // namespace fade
