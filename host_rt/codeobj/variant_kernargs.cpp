#include "codeobj/variant_kernargs.h"

#include <algorithm>
#include <cstring>

namespace fade::codeobj {

Result<VariantKernargs> VariantKernargs::plan(const KernargLayout &original,
                                              const KernargLayout &variant) {
  if (auto text = difference(original, variant)) return Error::of(*std::move(text));
  VariantKernargs plan;
  plan.size_ = std::max(variant.size, variant.explicit_end);
  plan.explicit_end_ = original.explicit_end;
  plan.static_lds_ = original.static_lds;
  plan.same_ = plan.size_ <= original.size;
  for (const KernargLayout::Argument &arg : variant.hidden_args) {
    if (arg.kind == ArgKind::HiddenNone) continue;
    Piece piece{arg.kind, 0, arg.offset, arg.size, true};
    const auto *source = original.findHidden(arg.kind);
    if (source != nullptr && source->size == arg.size && arg.kind != ArgKind::HiddenOther) {
      piece.from = source->offset;
      piece.made = false;
    }
    if (piece.made || piece.from != piece.to) plan.same_ = false;
    plan.hidden_.push_back(piece);
  }
  return plan;
}

void VariantKernargs::build(ByteView original, const DispatchFields &dispatch,
                            std::span<uint8_t> out) const noexcept {
  std::fill_n(out.begin(), size_, uint8_t{0});
  const auto block = out.first(size_);
  copyArguments(original, 0, block, 0, explicit_end_);
  for (const Piece &piece : hidden_) {
    if (!piece.made) {
      copyArguments(original, piece.from, block, piece.to, piece.size);
    } else if (const auto value = hiddenValue(piece.kind, dispatch, static_lds_);
               value && piece.size <= sizeof *value && piece.to + piece.size <= size_) {
      std::memcpy(out.data() + piece.to, &*value, piece.size);
    }
  }
}

} // namespace fade::codeobj
