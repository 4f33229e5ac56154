#include "codeobj/kernarg.h"

#include "fade/clone.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::codeobj {
namespace {

constexpr uint32_t kPointerSize = 8;
/// No real kernel comes near; a hostile one must not make the caller allocate gigabytes per
/// dispatch.
constexpr uint32_t kLargestBlock = 1 << 20;

std::string describe(const KernargLayout::Argument &arg) {
  return fmt::format("{} of {} bytes at {}", arg.kind_text, arg.size, arg.offset);
}

std::optional<std::string> difference(const KernargLayout::Argument &a,
                                      const KernargLayout::Argument &b, std::size_t index) {
  if (a.offset == b.offset && a.size == b.size && a.kind_text == b.kind_text &&
      a.address_space == b.address_space)
    return std::nullopt;
  return fmt::format("argument {} is {} in one and {} in the other", index, describe(a),
                     describe(b));
}

std::optional<std::string> explicitDifference(const KernargLayout &a, const KernargLayout &b,
                                              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (auto text = difference(a.explicit_args[i], b.explicit_args[i], i)) return text;
  return std::nullopt;
}

} // namespace

std::optional<uint64_t> hiddenValue(ArgKind kind, const DispatchFields &d, uint32_t static_lds) {
  auto of = [kind](ArgKind x) { return static_cast<int>(kind) - static_cast<int>(x); };
  auto groups = [&](int i) {
    return d.workgroup_size[i] ? d.grid_size[i] / d.workgroup_size[i] : 0u;
  };
  auto rest = [&](int i) {
    return d.workgroup_size[i] ? d.grid_size[i] % d.workgroup_size[i] : 0u;
  };
  switch (kind) {
  case ArgKind::HiddenBlockCountX:
  case ArgKind::HiddenBlockCountY:
  case ArgKind::HiddenBlockCountZ: return groups(of(ArgKind::HiddenBlockCountX));
  case ArgKind::HiddenGroupSizeX:
  case ArgKind::HiddenGroupSizeY:
  case ArgKind::HiddenGroupSizeZ: return d.workgroup_size[of(ArgKind::HiddenGroupSizeX)];
  case ArgKind::HiddenRemainderX:
  case ArgKind::HiddenRemainderY:
  case ArgKind::HiddenRemainderZ: return rest(of(ArgKind::HiddenRemainderX));
  case ArgKind::HiddenGridDims: return d.dimensions;
  case ArgKind::HiddenDynamicLdsSize:
    return d.group_segment_size > static_lds ? d.group_segment_size - static_lds : 0;
  case ArgKind::HiddenQueuePtr: return d.queue;
  case ArgKind::HiddenPrivateBase: return d.private_base;
  case ArgKind::HiddenSharedBase: return d.shared_base;
  // HIP launches have no offset; OpenCL's are only seen by kernels that declare them.
  case ArgKind::HiddenGlobalOffsetX:
  case ArgKind::HiddenGlobalOffsetY:
  case ArgKind::HiddenGlobalOffsetZ: return 0;
  case ArgKind::HiddenNone: return 0;
  default: return std::nullopt;
  }
}

Result<KernargLayout> KernargLayout::from(const KernelMetadata &metadata) {
  auto fail = [&](std::string what) {
    return Error{"", fmt::format("arguments of {}", metadata.name), 0, std::move(what)};
  };
  KernargLayout layout;
  layout.size = metadata.kernarg_segment_size;
  layout.alignment = std::max(metadata.kernarg_segment_align, 8u);
  layout.static_lds = metadata.group_segment_fixed_size;
  if (layout.size > kLargestBlock)
    return fail(fmt::format("a block of {} bytes is too large", layout.size));
  std::vector<std::pair<uint64_t, uint64_t>> extents;
  for (const KernelArg &arg : metadata.args) {
    uint64_t end = uint64_t(arg.offset) + arg.size;
    if (end > layout.size)
      return fail(fmt::format("{} of {} bytes at {} is outside the block of {} bytes",
                              arg.kind_text, arg.size, arg.offset, layout.size));
    if (arg.size != 0) extents.emplace_back(arg.offset, end);
    Argument copy{arg.offset, arg.size, arg.kind, arg.kind_text, arg.address_space, arg.name};
    if (isHidden(arg.kind)) {
      layout.hidden_args.push_back(std::move(copy));
    } else {
      layout.explicit_end = std::max(layout.explicit_end, static_cast<uint32_t>(end));
      layout.explicit_args.push_back(std::move(copy));
    }
  }
  std::ranges::sort(extents);
  for (std::size_t i = 1; i < extents.size(); ++i)
    if (extents[i].first < extents[i - 1].second)
      return fail(fmt::format("two arguments share the byte at {}", extents[i].first));
  for (const Argument &arg : layout.hidden_args)
    if (arg.offset < layout.explicit_end)
      return fail(
          fmt::format("{} at {} is before an explicit argument", arg.kind_text, arg.offset));
  layout.control_offset = FADE_CONTROL_OFFSET(layout.explicit_end);
  return layout;
}

const KernargLayout::Argument *KernargLayout::findHidden(ArgKind kind) const {
  auto it = std::ranges::find(hidden_args, kind, &Argument::kind);
  return it == hidden_args.end() ? nullptr : &*it;
}

std::optional<std::string> difference(const KernargLayout &a, const KernargLayout &b) {
  if (a.explicit_args.size() != b.explicit_args.size())
    return fmt::format("{} explicit arguments in one and {} in the other", a.explicit_args.size(),
                       b.explicit_args.size());
  return explicitDifference(a, b, a.explicit_args.size());
}

std::optional<std::string> differenceFromClone(const KernargLayout &original,
                                               const KernargLayout &clone) {
  std::size_t count = original.explicit_args.size();
  if (clone.explicit_args.size() != count + 1)
    return fmt::format("{} explicit arguments, and {} in the clone instead of {}", count,
                       clone.explicit_args.size(), count + 1);
  if (auto text = explicitDifference(original, clone, count)) return text;
  const KernargLayout::Argument &extra = clone.explicit_args.back();
  bool pointer = extra.kind == ArgKind::GlobalBuffer && extra.size == kPointerSize;
  if (!pointer || extra.offset != original.control_offset)
    return fmt::format("the clone's last argument is {}, not a pointer at {}", describe(extra),
                       original.control_offset);
  return std::nullopt;
}

Result<KernargRewrite> KernargRewrite::plan(const KernargLayout &original,
                                            const KernargLayout &clone) {
  if (auto text = differenceFromClone(original, clone)) return Error::of(*text);
  KernargRewrite rewrite;
  rewrite.control_offset_ = original.control_offset;
  rewrite.size_ = std::max(clone.size, original.control_offset + kPointerSize);
  rewrite.alignment_ = std::max(original.alignment, clone.alignment);
  rewrite.original_size_ = original.size;
  rewrite.static_lds_ = original.static_lds;
  rewrite.moves_hidden_ = !original.hidden_args.empty();
  for (const KernargLayout::Argument &arg : clone.hidden_args) {
    const KernargLayout::Argument *source = nullptr;
    for (const KernargLayout::Argument &candidate : original.hidden_args)
      if (candidate.kind_text == arg.kind_text && candidate.offset + kPointerSize == arg.offset &&
          candidate.size == arg.size)
        source = &candidate;
    if (source != nullptr) continue; // moved together with the rest of the hidden area
    if (const auto *moved = original.findHidden(arg.kind);
        moved != nullptr && arg.kind != ArgKind::HiddenNone && arg.kind != ArgKind::HiddenOther)
      return Error{"", "", 0,
                   fmt::format("{} is at {} in the original and at {}, not {}, in the clone",
                               arg.kind_text, moved->offset, arg.offset,
                               moved->offset + kPointerSize)};
    if (uint64_t(arg.offset) + arg.size > rewrite.size_)
      return Error::of(fmt::format("{} is outside the clone's block", describe(arg)));
    bool makeable =
        arg.size <= sizeof(uint64_t) && hiddenValue(arg.kind, DispatchFields(), 0).has_value();
    if (makeable)
      rewrite.made_.push_back({arg.kind, arg.offset, arg.size});
    else
      rewrite.zeroed_.push_back(arg.kind);
  }
  return rewrite;
}

Result<KernargRewrite> KernargRewrite::behind(const KernargLayout &original, uint32_t size) {
  if (size % kPointerSize != 0 || size < original.size + kPointerSize)
    return Error::of(fmt::format("a block of {} bytes has no room for {} bytes and a pointer", size,
                                 original.size));
  KernargRewrite rewrite;
  rewrite.control_offset_ = size - kPointerSize;
  rewrite.size_ = size;
  rewrite.alignment_ = original.alignment;
  rewrite.original_size_ = original.size;
  rewrite.static_lds_ = original.static_lds;
  return rewrite;
}

void copyArguments(ByteView from, std::size_t source, std::span<uint8_t> to,
                   std::size_t destination, std::size_t count) noexcept {
  if (source >= from.size() || destination >= to.size()) return;
  count = std::min({count, from.size() - source, to.size() - destination});
  if (count != 0) std::memcpy(to.data() + destination, from.data() + source, count);
}

bool KernargRewrite::build(ByteView original, const DispatchFields &dispatch, uint64_t control,
                           std::span<uint8_t> out) const noexcept {
  if (out.size() < size_) return false;
  std::fill_n(out.begin(), size_, uint8_t(0));
  ByteView from = original.first(std::min<std::size_t>(original.size(), original_size_));
  const auto block = out.first(size_);
  copyArguments(from, 0, block, 0, control_offset_);
  std::memcpy(out.data() + control_offset_, &control, kPointerSize);
  if (moves_hidden_)
    copyArguments(from, control_offset_, block, control_offset_ + kPointerSize, SIZE_MAX);
  for (const Made &arg : made_) {
    uint64_t value = *hiddenValue(arg.kind, dispatch, static_lds_);
    std::memcpy(out.data() + arg.offset, &value, arg.size);
  }
  return true;
}

Result<std::vector<uint8_t>> buildCloneKernargs(const KernargLayout &original,
                                                const KernargLayout &clone, ByteView original_bytes,
                                                const DispatchFields &dispatch, uint64_t control) {
  auto rewrite = KernargRewrite::plan(original, clone);
  if (!rewrite) return std::move(rewrite).error();
  std::vector<uint8_t> block(rewrite->size());
  rewrite->build(original_bytes, dispatch, control, block);
  return block;
}

} // namespace fade::codeobj
