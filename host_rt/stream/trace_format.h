// A recorded run: everything that handlers are told, in a file (docs/formats.md).
//
//   +-------------+-------+-------+-------+ - - - +------+
//   | file header | chunk | chunk | chunk |       | END  |
//   +-------------+-------+-------+-------+ - - - +------+
//   chunk: u32 kind, u32 reserved (0), u64 size of the payload, payload, zeros up to 8 bytes
//
// Strings are a u32 length and the bytes; everything is little-endian and not aligned inside a
// payload. A trace without an END chunk was cut off: what is there is still good.
#pragma once

#include "base/recording.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fade::trace {

inline constexpr uint32_t kVersion = 1;

struct FileHeader {
  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t message_version = 0;
  uint64_t reserved[2] = {0, 0};
};

enum class Kind : uint32_t {
  sites = 1,       ///< u64 id, u32 modes, string file, the table
  kernel = 2,      ///< u32 id, strings name, symbol, target, u64 id of its sites (0: none), string
                   ///< module
  allocations = 3, ///< u64 count, fade_allocation each, their names: those that hold from here on
  begin = 4,       ///< see DispatchFields; an instrumented dispatch whose records follow. Then its
                   ///< arguments: u64 count, for each ArgumentFields and strings name, type
  records = 5,     ///< u64 dispatch, u64 position, records
  end = 6,         ///< see DispatchFields, then u64 count, fade_counter each, u64 count, u64 each;
                   ///< then u64 executed instructions of waves and of lanes
  skipped = 7,     ///< strings kernel, reason
  finish = 8,      ///< the trace is whole
  filter = 9,      ///< u32 first[3], last[3], sample, sample_executions: see WorkgroupFilter
  run = 10,        ///< see RunFacts::write
  origins = 11,    ///< u64 count, u32 each: who made the allocations of the chunk before, in names
};

struct ChunkHeader {
  uint32_t kind = 0;
  uint32_t reserved = 0;
  uint64_t size = 0;
};

/// What begin and end chunks say of a dispatch; followed by the variant, a string.
struct DispatchFields {
  uint64_t id = 0;
  uint64_t queue = 0;
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t records = 0, bytes = 0, dropped = 0;
  uint32_t kernel = 0;
  uint32_t flags = 0;
  uint32_t agent = 0;
  uint32_t group_segment = 0;
  uint32_t grid[3] = {};
  uint32_t workgroup[3] = {};
};
/// Of an argument of a dispatch; followed by its name and type, strings.
struct ArgumentFields {
  uint32_t offset = 0, size = 0, flags = 0, allocation = 0;
  uint64_t value = 0;
};
static_assert(sizeof(FileHeader) == 32 && sizeof(ChunkHeader) == 16 &&
              sizeof(DispatchFields) == 96);

class Writer {
public:
  template <typename T> void put(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto *from = reinterpret_cast<const char *>(&value);
    bytes_.append(from, sizeof value);
  }
  void putString(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  void putBytes(const void *data, std::size_t size) {
    if (size != 0) bytes_.append(static_cast<const char *>(data), size);
  }
  const std::string &bytes() const { return bytes_; }

private:
  std::string bytes_;
};

/// Reads a payload; nothing if it is shorter than it should be.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T> std::optional<T> take() {
    if (bytes_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::optional<std::string> takeString() {
    const auto size = take<uint32_t>();
    if (!size || *size > bytes_.size()) return std::nullopt;
    std::string text(reinterpret_cast<const char *>(bytes_.data()), *size);
    bytes_ = bytes_.subspan(*size);
    return text;
  }
  /// A count and that many elements.
  template <typename T> std::optional<std::vector<T>> takeArray() {
    const auto count = take<uint64_t>();
    if (!count || *count > bytes_.size() / sizeof(T)) return std::nullopt;
    std::vector<T> values(*count);
    if (*count != 0) std::memcpy(values.data(), bytes_.data(), *count * sizeof(T));
    bytes_ = bytes_.subspan(*count * sizeof(T));
    return values;
  }
  std::span<const std::byte> rest() const { return bytes_; }

private:
  std::span<const std::byte> bytes_;
};

} // namespace fade::trace
