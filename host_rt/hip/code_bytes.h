// Numbers in machine code, which lie at any address.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace fade::hip {

template <typename T> T readAt(std::span<const uint8_t> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T> void append(std::vector<uint8_t> &bytes, T value) {
  const auto *from = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

} // namespace fade::hip
