#include "dispatch/variant_kernargs.h"

#include <algorithm>
#include <cstring>

namespace fade {

using codeobj::KernargLayout;

Result<VariantKernargs> VariantKernargs::plan(const KernargLayout &original,
                                              const KernargLayout &variant) {
  if (auto text = codeobj::difference(original, variant)) return Error::of(*std::move(text));
  VariantKernargs plan;
  plan.size_ = std::max(variant.size, variant.explicit_end);
  plan.explicit_end_ = original.explicit_end;
  plan.static_lds_ = original.static_lds;
  plan.same_ = plan.size_ <= original.size;
  for (const KernargLayout::Argument &arg : variant.hidden_args) {
    if (arg.kind == codeobj::ArgKind::HiddenNone) continue;
    Piece piece{arg.kind, 0, arg.offset, arg.size, true};
    const auto *source = original.findHidden(arg.kind);
    if (source != nullptr && source->size == arg.size &&
        arg.kind != codeobj::ArgKind::HiddenOther) {
      piece.from = source->offset;
      piece.made = false;
    }
    if (piece.made || piece.from != piece.to) plan.same_ = false;
    plan.hidden_.push_back(piece);
  }
  return plan;
}

void VariantKernargs::build(codeobj::ByteView original, const codeobj::DispatchFields &dispatch,
                            std::span<uint8_t> out) const noexcept {
  std::fill_n(out.begin(), size_, uint8_t{0});
  const auto copy = [&](std::size_t from, std::size_t to, std::size_t size) {
    if (from >= original.size() || to >= size_) return;
    size = std::min({size, original.size() - from, std::size_t{size_} - to});
    if (size != 0) std::memcpy(out.data() + to, original.data() + from, size);
  };
  copy(0, 0, explicit_end_);
  for (const Piece &piece : hidden_) {
    if (!piece.made) {
      copy(piece.from, piece.to, piece.size);
    } else if (const auto value = codeobj::hiddenValue(piece.kind, dispatch, static_lds_);
               value && piece.size <= sizeof *value && piece.to + piece.size <= size_) {
      std::memcpy(out.data() + piece.to, &*value, piece.size);
    }
  }
}

} // namespace fade
