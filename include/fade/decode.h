// Host-side decoder of the record stream (message.h). Header-only; copies nothing, allocates
// nothing.
//
// A ring is read in two steps. publishedBytes() finds out, with acquire loads, how far the waves
// have published; RecordCursor then walks that range, checks every length and hands out Records.
// Bytes from a file need the second step only.
#pragma once

#include "message.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace fade {

// A view of one record that RecordCursor has checked. It is valid as long as the bytes are.
class Record {
public:
  Record() = default;

  uint32_t kind() const { return header_.kind; }
  uint32_t site() const { return header_.site; } // kernel index for wave records
  uint32_t size() const { return header_.words * FADE_RECORD_ALIGN; }
  uint64_t mask() const { return load<uint64_t>(8); }
  uint32_t wave() const { return load<uint32_t>(24); }
  std::span<const std::byte> bytes() const { return {bytes_, size()}; }

  // WAVE_BEGIN, WAVE_END and BLOCK
  uint64_t clock() const { return load<uint64_t>(16); }
  fade_wave_begin waveBegin() const { return load<fade_wave_begin>(0); }
  fade_wave_end waveEnd() const { return load<fade_wave_end>(0); }

  // ACCESS and RANGE
  bool isAccess() const { return kind() == FADE_RECORD_ACCESS || kind() == FADE_RECORD_RANGE; }
  bool isUser() const { return kind() == FADE_RECORD_USER; } // addresses are the lanes' values
  // Executions of the same class, added up on the device: base and wave are those of the first.
  bool isSummary() const { return kind() == FADE_RECORD_SUMMARY; }
  // Irregular executions, added up on the device without their addresses.
  bool isSums() const { return kind() == FADE_RECORD_SUMS; }
  bool hasLanes() const { return isAccess() || isUser() || isSummary(); }
  // Whether site() is an index into the sites of its module, not the number of a kernel.
  bool hasSite() const { return hasLanes() || isSums() || kind() == FADE_RECORD_BLOCK; }
  uint32_t encoding() const { return header_.encoding; }
  bool hasLength() const { return kind() == FADE_RECORD_RANGE; }
  uint64_t length() const { return load<uint64_t>(sizeof(fade_record)); } // RANGE only
  // SUMMARY only
  uint64_t count() const { return load<uint64_t>(offsetof(fade_summary_record, count)); }
  uint64_t first() const { return load<uint64_t>(offsetof(fade_summary_record, first)); }
  uint32_t spread() const { return load<uint32_t>(offsetof(fade_summary_record, spread)); }
  fade_sums_record sums() const { return load<fade_sums_record>(0); }    // SUMS only
  fade_waves_record waves() const { return load<fade_waves_record>(0); } // WAVES only
  // So many executions: 1, unless they were added up.
  uint64_t weight() const { return isSummary() ? count() : 1; }
  uint32_t laneCount() const { return static_cast<uint32_t>(std::popcount(mask())); }

  uint32_t firstLane() const { return static_cast<uint32_t>(std::countr_zero(mask())); }
  uint32_t lastLane() const { return 63u - static_cast<uint32_t>(std::countl_zero(mask())); }

  // UNIFORM and AFFINE: the address of a lane is base() + stride() * (lane - firstLane()).
  bool isLinear() const { return encoding() <= FADE_ENCODING_AFFINE; }
  uint64_t base() const { return load<uint64_t>(16); } // of the first active lane, always
  int32_t stride() const { return load<int32_t>(28); }
  uint64_t lastLinear() const { // address of the last active lane
    return base() + static_cast<uint64_t>(int64_t{stride()} * (lastLane() - firstLane()));
  }

  fade_tile tile() const { return load<fade_tile>(payload()); } // TILED only

  // Calls f(lane, address) for each active lane, in order of lanes.
  template <typename F> void forEachLane(F &&f) const;

  // Writes the addresses of the active lanes, in order of lanes, and returns how many there are.
  uint32_t addresses(std::span<uint64_t, 64> out) const {
    uint32_t n = 0;
    forEachLane([&](uint32_t, uint64_t address) { out[n++] = address; });
    return n;
  }

private:
  friend class RecordCursor;

  template <typename T> T load(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  std::size_t payload() const {
    return isSummary() ? sizeof(fade_summary_record) : sizeof(fade_record) + (hasLength() ? 8 : 0);
  }
  const char *fault() const; // what is wrong with the record, or null
  uint32_t expectedSize() const;

  const std::byte *bytes_ = nullptr;
  fade_header header_{};
};

template <typename F> void Record::forEachLane(F &&f) const {
  const uint64_t active = mask();
  const uint64_t start = base();
  const auto step = static_cast<uint64_t>(int64_t{stride()});
  const uint32_t first = firstLane();
  const bool tiled = encoding() == FADE_ENCODING_TILED;
  const auto rows = tiled ? tile() : fade_tile{0, 64};
  const auto row_stride = static_cast<uint64_t>(int64_t{rows.row_stride});
  const auto column_mask = rows.width - 1;
  const auto row_shift = static_cast<uint32_t>(std::countr_zero(rows.width));
  uint32_t rank = 0;
  for (uint64_t rest = active; rest != 0; rest &= rest - 1, ++rank) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t r = lane - first;
    uint64_t address = start;
    switch (encoding()) {
    case FADE_ENCODING_UNIFORM: break;
    case FADE_ENCODING_AFFINE:
    case FADE_ENCODING_TILED:
      address += step * (r & column_mask) + row_stride * (r >> row_shift);
      break;
    case FADE_ENCODING_DELTA32:
      if (rank > 0)
        address += static_cast<uint64_t>(int64_t{load<int32_t>(payload() + 4 * (rank - 1))});
      break;
    default:
      if (rank > 0) address = load<uint64_t>(payload() + 8 * (rank - 1));
    }
    f(lane, address);
  }
}

inline uint32_t Record::expectedSize() const {
  switch (kind()) {
  case FADE_RECORD_WAVE_BEGIN: return sizeof(fade_wave_begin);
  case FADE_RECORD_WAVE_END: return sizeof(fade_wave_end);
  case FADE_RECORD_BLOCK: return sizeof(fade_record);
  case FADE_RECORD_WAVES: return sizeof(fade_waves_record);
  case FADE_RECORD_SUMS: return sizeof(fade_sums_record);
  default: break;
  }
  const auto fixed = static_cast<uint32_t>(payload());
  switch (encoding()) {
  case FADE_ENCODING_TILED: return fixed + sizeof(fade_tile);
  case FADE_ENCODING_DELTA32: return fixed + (4 * (laneCount() - 1) + 7) / 8 * 8;
  case FADE_ENCODING_RAW: return fixed + 8 * (laneCount() - 1);
  default: return fixed;
  }
}

inline const char *Record::fault() const {
  if (kind() == 0) return "a record without a kind";
  if (kind() > FADE_RECORD_NEWEST) return nullptr; // its size is all we know
  if (mask() == 0) return "a record without active lanes";
  if ((hasLanes() || isSums()) &&
      encoding() > (isSummary() ? FADE_ENCODING_TILED : FADE_ENCODING_RAW))
    return "an unknown encoding of addresses";
  if (size() != expectedSize()) return "a record whose size contradicts its contents";
  if (hasLanes() && encoding() == FADE_ENCODING_TILED) {
    const auto width = tile().width;
    if (!std::has_single_bit(width) || width < 2 || width > 32) return "a tile of impossible width";
  }
  return nullptr;
}

// Walks the records in a byte range.
class RecordCursor {
public:
  enum class Status {
    record,      // a record was read
    end,         // the range is used up
    unpublished, // zero header: the writer has not got there yet
    malformed,   // see fault(); the cursor stays where it is
  };

  explicit RecordCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Status next(Record &record);
  std::size_t offset() const { return offset_; } // of the next record
  const char *fault() const { return fault_; }   // why the last call returned malformed

private:
  Status malformed(const char *why) {
    fault_ = why;
    return Status::malformed;
  }

  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
  const char *fault_ = "";
};

inline RecordCursor::Status RecordCursor::next(Record &record) {
  const std::size_t left = bytes_.size() - offset_;
  if (left == 0) return Status::end;
  if (left < sizeof(fade_header)) return malformed("the range ends inside a record");
  record.bytes_ = bytes_.data() + offset_;
  if (record.load<uint64_t>(0) == 0) return Status::unpublished;
  record.header_ = record.load<fade_header>(0);
  if (record.size() < sizeof(fade_record)) return malformed("a record shorter than any record");
  if (record.size() > FADE_RING_SLACK) return malformed("a record longer than any record");
  if (record.size() > left) return malformed("the range ends inside a record");
  if (const char *why = record.fault()) return malformed(why);
  offset_ += record.size();
  return Status::record;
}

// How many bytes from `at` on are published records, at most `limit` and never a part of a record.
// `at` points into a live ring. A header that no writer can have written ends the search too and
// sets malformed: the ring is corrupt.
struct Published {
  std::size_t bytes = 0;
  bool malformed = false;
};

inline Published publishedBytes(const std::byte *at, std::size_t limit) {
  Published result;
  while (limit - result.bytes >= sizeof(fade_record)) {
    const auto *where = reinterpret_cast<const uint64_t *>(at + result.bytes);
    const uint64_t stored = __atomic_load_n(where, __ATOMIC_ACQUIRE);
    if (stored == 0) break;
    const auto header = std::bit_cast<fade_header>(stored);
    const std::size_t size = std::size_t{header.words} * FADE_RECORD_ALIGN;
    if (size < sizeof(fade_record) || size > FADE_RING_SLACK || size > limit - result.bytes) {
      result.malformed = true;
      break;
    }
    result.bytes += size;
  }
  return result;
}

static_assert(std::endian::native == std::endian::little, "records are little-endian");

} // namespace fade
