// Tells pages apart by 128 bits. The keys are drawn for each capture and never leave the process.
#pragma once

#include "capture/capture.h"

#include <cstring>

namespace fade::capture {

struct PageHash {
  uint64_t low = 0, high = 0;
  bool operator==(const PageHash &) const = default;
};

class PageHasher {
public:
  PageHasher();

  PageHash operator()(const uint8_t *page) const {
    uint64_t a = keys_[0], b = keys_[1], c = keys_[2], d = keys_[3];
    for (std::size_t i = 0; i < kPageSize; i += 32) {
      uint64_t w[4];
      std::memcpy(w, page + i, sizeof w);
      a = fold(a ^ w[0], keys_[4] ^ w[1]) + i;
      b = fold(b ^ w[2], keys_[5] ^ w[3]) + i;
      c = fold(c ^ w[1], keys_[6] ^ w[2]);
      d = fold(d ^ w[3], keys_[7] ^ w[0]);
    }
    return {fold(a ^ keys_[1], b ^ keys_[2]), fold(c ^ keys_[3], d ^ keys_[0])};
  }

  static bool isZero(const uint8_t *page) {
    uint64_t all = 0;
    for (std::size_t i = 0; i < kPageSize; i += 64) {
      uint64_t w[8];
      std::memcpy(w, page + i, sizeof w);
      for (const uint64_t x : w) all |= x;
      if (all != 0) return false;
    }
    return true;
  }

private:
  static uint64_t fold(uint64_t x, uint64_t y) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(x) * y;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  uint64_t keys_[8];
};

} // namespace fade::capture
