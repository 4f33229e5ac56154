// Bytes that somebody owns, and the only ways this library reads them: every offset and length is
// checked first.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fade::codeobj {

using ByteView = std::span<const uint8_t>;

/// The part [offset, offset+size) of `bytes`, or nothing if it is not all there.
inline std::optional<ByteView> part(ByteView bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

/// A little-endian value at `offset`; all formats here are little-endian, and so are all hosts of
/// ROCm.
template <class T> std::optional<T> read(ByteView bytes, uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  auto at = part(bytes, offset, sizeof(T));
  if (!at) return std::nullopt;
  T value;
  std::memcpy(&value, at->data(), sizeof(T));
  return value;
}

/// No name in a file may be longer: a table of pointers into one endless string would cost
/// quadratic time.
inline constexpr std::size_t kLongestString = 1 << 16;

/// The zero-terminated string at `offset`, or nothing if it does not end inside `bytes` (or is too
/// long).
std::optional<std::string_view> cString(ByteView bytes, uint64_t offset);

inline std::string_view asText(ByteView bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
inline ByteView asBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// Immutable bytes with a name and a shared owner: a mapped file, a caller's buffer, a decompressed
/// bundle. Cheap to copy; a slice keeps the whole alive.
class Blob {
public:
  Blob() = default;

  /// Maps the file read-only; nothing is read until it is looked at.
  static Result<Blob> mapFile(const std::string &path);
  /// Reads all of the file: for one that somebody may shorten meanwhile, which takes mapped bytes
  /// away from under their reader.
  static Result<Blob> readFile(const std::string &path);
  /// The caller keeps the bytes alive and unchanged for as long as anything made from the blob
  /// lives.
  static Blob borrow(ByteView bytes, std::string name);
  static Blob copy(ByteView bytes, std::string name);
  static Blob own(std::vector<uint8_t> bytes, std::string name);

  /// `view` must lie inside bytes().
  Blob slice(ByteView view, std::string name) const;

  ByteView bytes() const { return bytes_; }
  const std::string &name() const { return name_; }
  bool empty() const { return bytes_.empty(); }

  /// Tells the system that these bytes will not be looked at for a while. They stay readable: what
  /// comes from a mapped file is read again when needed; what does not is left alone.
  void releasePages() const;

  Error error(std::string section, uint64_t offset, std::string what) const {
    return {name_, std::move(section), offset, std::move(what)};
  }

private:
  Blob(std::shared_ptr<const void> owner, ByteView bytes, std::string name, bool mapped = false)
      : owner_(std::move(owner)), bytes_(bytes), name_(std::move(name)), mapped_(mapped) {}

  std::shared_ptr<const void> owner_;
  ByteView bytes_;
  std::string name_;
  bool mapped_ = false; ///< the bytes are a file's, mapped by mapFile()
};

} // namespace fade::codeobj
