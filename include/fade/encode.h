// Reference encoder of the record stream (message.h): the same choices as the device runtime,
// written for clarity. Tests compare the device's bytes with it; handlers can be fed from it
// without a GPU.
#pragma once

#include "message.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace fade {

// What the shortest true encoding of a set of addresses is.
struct AddressEncoding {
  uint32_t encoding = FADE_ENCODING_UNIFORM;
  int32_t stride = 0;
  fade_tile tile{};
};

// addresses[lane] is looked at for the lanes of the mask only; the mask is not empty.
AddressEncoding chooseEncoding(uint64_t mask, std::span<const uint64_t> addresses);

// Appends records to a growing buffer.
class RecordEncoder {
public:
  void waveBegin(fade_wave_begin wave) {
    wave.header =
        header(wave.header.site, sizeof wave, FADE_RECORD_WAVE_BEGIN, wave.header.encoding);
    append(wave);
  }
  void waveEnd(fade_wave_end wave) {
    wave.header = header(wave.header.site, sizeof wave, FADE_RECORD_WAVE_END, 0);
    append(wave);
  }
  void block(uint32_t site, uint32_t wave, uint64_t mask, uint64_t clock) {
    append(
        fade_record{header(site, sizeof(fade_record), FADE_RECORD_BLOCK, 0), mask, clock, wave, 0});
  }
  // With a length it is a RANGE, else an ACCESS.
  void access(uint32_t site, uint32_t wave, uint64_t mask, std::span<const uint64_t> addresses,
              std::optional<uint64_t> length = std::nullopt);

  // The lanes' values are encoded as addresses are.
  void user(uint32_t site, uint32_t wave, uint64_t mask, std::span<const uint64_t> values) {
    const std::size_t at = bytes_.size();
    access(site, wave, mask, values);
    bytes_[at + offsetof(fade_header, kind)] = static_cast<std::byte>(FADE_RECORD_USER);
  }

  const std::vector<std::byte> &bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

private:
  static fade_header header(uint32_t site, std::size_t size, uint32_t kind, uint32_t encoding) {
    return {site, static_cast<uint16_t>(size / FADE_RECORD_ALIGN), static_cast<uint8_t>(kind),
            static_cast<uint8_t>(encoding)};
  }
  template <typename T> void append(const T &value) {
    const auto *from = reinterpret_cast<const std::byte *>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }

  std::vector<std::byte> bytes_;
};

namespace detail {

inline bool fitsInt32(uint64_t difference) {
  return static_cast<int64_t>(difference) == static_cast<int32_t>(difference);
}

// The mask without its lowest bit.
inline uint64_t withoutFirst(uint64_t mask) { return mask & (mask - 1); }

template <typename F> void forEachBit(uint64_t mask, F &&f) {
  for (; mask != 0; mask = withoutFirst(mask)) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

constexpr uint32_t kNoLane = 64;

// The first lane whose address is not what the encoding says.
inline uint32_t firstMismatch(const AddressEncoding &e, uint64_t mask,
                              std::span<const uint64_t> addresses) {
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const auto stride = static_cast<uint64_t>(int64_t{e.stride});
  // One row if it is not tiled.
  const uint32_t width = e.tile.width ? e.tile.width : kNoLane;
  const auto row_stride = static_cast<uint64_t>(int64_t{e.tile.row_stride});
  const auto end = static_cast<uint32_t>(std::bit_width(mask));
  uint64_t row = addresses[first];
  for (uint32_t begin = first; begin < end; begin += width) {
    uint64_t said = row;
    for (uint32_t lane = begin; lane < std::min(begin + width, end); ++lane) {
      if ((mask >> lane & 1) && addresses[lane] != said) return lane;
      said += stride;
    }
    row += row_stride;
  }
  return kNoLane;
}

} // namespace detail

inline AddressEncoding chooseEncoding(uint64_t mask, std::span<const uint64_t> addresses) {
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  if (detail::withoutFirst(mask) == 0) return {};
  const auto second = static_cast<uint32_t>(std::countr_zero(detail::withoutFirst(mask)));
  const uint64_t base = addresses[first];

  // Two lanes fix the stride; the others confirm it, or show where a row of a tile ends.
  AddressEncoding e{FADE_ENCODING_AFFINE, 0, {}};
  e.stride = static_cast<int32_t>(addresses[second] - base) / static_cast<int32_t>(second - first);
  const uint32_t corner = detail::firstMismatch(e, mask, addresses);
  if (corner == detail::kNoLane) {
    if (e.stride == 0) e.encoding = FADE_ENCODING_UNIFORM;
    return e;
  }
  const uint32_t width = corner - first;
  if (std::has_single_bit(width) && width >= 2 && width <= 32) {
    e.encoding = FADE_ENCODING_TILED;
    e.tile = {static_cast<int32_t>(addresses[corner] - base), width};
    if (detail::firstMismatch(e, mask, addresses) == detail::kNoLane) return e;
  }
  bool near = true;
  detail::forEachBit(
      mask, [&](uint32_t lane) { near = near && detail::fitsInt32(addresses[lane] - base); });
  return {near ? FADE_ENCODING_DELTA32 : FADE_ENCODING_RAW, 0, {}};
}

inline void RecordEncoder::access(uint32_t site, uint32_t wave, uint64_t mask,
                                  std::span<const uint64_t> addresses,
                                  std::optional<uint64_t> length) {
  const AddressEncoding e = chooseEncoding(mask, addresses);
  const std::size_t start = bytes_.size();
  const uint64_t base = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
  append(fade_record{{}, mask, base, wave, e.stride});
  if (length) append(*length);
  if (e.encoding == FADE_ENCODING_TILED) append(e.tile);
  const uint64_t others = detail::withoutFirst(mask);
  if (e.encoding == FADE_ENCODING_DELTA32)
    detail::forEachBit(
        others, [&](uint32_t lane) { append(static_cast<int32_t>(addresses[lane] - base)); });
  if (e.encoding == FADE_ENCODING_RAW)
    detail::forEachBit(others, [&](uint32_t lane) { append(addresses[lane]); });
  if ((bytes_.size() - start) % FADE_RECORD_ALIGN != 0) append(int32_t{0});
  const auto kind = length ? FADE_RECORD_RANGE : FADE_RECORD_ACCESS;
  const fade_header h = header(site, bytes_.size() - start, kind, e.encoding);
  std::memcpy(bytes_.data() + start, &h, sizeof h);
}

} // namespace fade
