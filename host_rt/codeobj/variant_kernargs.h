// The argument block of another version of a kernel, made from the one the application wrote. The
// explicit arguments are the same; the hidden ones need not be, for another compiler may ask for
// others or put them elsewhere.
#pragma once

#include "codeobj/kernarg.h"

#include <span>
#include <vector>

namespace fade::codeobj {

class VariantKernargs {
public:
  /// An error if the explicit arguments differ.
  static Result<VariantKernargs> plan(const KernargLayout &original, const KernargLayout &variant);

  /// The application's block will do.
  bool isSame() const { return same_; }
  uint32_t size() const { return size_; }
  /// `out` has at least size() bytes.
  void build(ByteView original, const DispatchFields &dispatch,
             std::span<uint8_t> out) const noexcept;

private:
  struct Piece {
    ArgKind kind;
    uint32_t from = 0, to = 0, size = 0;
    bool made = false; ///< from the dispatch, not copied
  };
  uint32_t size_ = 0;
  uint32_t explicit_end_ = 0;
  uint32_t static_lds_ = 0;
  bool same_ = true;
  std::vector<Piece> hidden_;
};

} // namespace fade::codeobj
