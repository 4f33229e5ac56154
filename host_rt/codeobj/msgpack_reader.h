// Walks MessagePack bytes where they lie. A code object's metadata can describe thousands of
// kernels; the index needs the name and the extent of each and a kernel's own map only when
// somebody asks for it, so values are visited one by one and skipped in constant memory rather than
// unpacked into a tree.
#pragma once

#include "codeobj/bytes.h"

namespace fade::codeobj {

class MsgpackReader {
public:
  enum class Kind { Nil, Boolean, Signed, Unsigned, Float, String, Binary, Array, Map };

  struct Item {
    Kind kind = Kind::Nil;
    uint64_t number = 0;   ///< Boolean, Unsigned, and Signed as two's complement
    double real = 0;       ///< Float
    std::string_view text; ///< String, Binary
    uint32_t elements = 0; ///< Array; Map (pairs)

    /// The value as a non-negative integer, if it is one.
    std::optional<uint64_t> asUnsigned() const;
  };

  explicit MsgpackReader(ByteView bytes, std::size_t position = 0)
      : bytes_(bytes), position_(position) {}

  std::size_t position() const { return position_; }

  /// The next item. The elements of an array or map follow as items of their own.
  /// Nothing, with the position unchanged, if the bytes end early or are no MessagePack.
  std::optional<Item> next();

  /// Passes over one whole value, however deeply nested.
  bool skip();

private:
  std::optional<Item> takeText(Kind kind, std::size_t header, uint64_t length);
  std::optional<Item> takeContainer(Kind kind, std::size_t header, uint64_t elements);
  template <class T> std::optional<Item> takeNumber(Kind kind);

  ByteView bytes_;
  std::size_t position_;
};

} // namespace fade::codeobj
