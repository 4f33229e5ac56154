#include "dispatch/blit_kernel.h"

#include "base/hip_helpers.h"

#include <algorithm>
#include <cstring>

namespace fade {
namespace {

constexpr uint64_t kWord = 4;

bool multiply(uint64_t &product, std::initializer_list<uint64_t> factors) {
  product = 1;
  for (const uint64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) return false;
  return true;
}

} // namespace

std::optional<BlitKernel> BlitKernel::find(const codeobj::KernelMetadata &kernel, Form form,
                                           std::initializer_list<std::string_view> names) {
  BlitKernel found(form);
  std::size_t i = 0;
  for (const std::string_view name : names) {
    const auto arg = std::ranges::find(kernel.args, name, &codeobj::KernelArg::name);
    if (arg == kernel.args.end() || (arg->size != 4 && arg->size != 8 && arg->size != 32) ||
        arg->offset > UINT32_MAX - arg->size)
      return std::nullopt;
    found.offsets_[i] = arg->offset;
    found.sizes_[i++] = arg->size;
    found.end_ = std::max(found.end_, arg->offset + arg->size);
  }
  return found;
}

std::optional<BlitKernel> BlitKernel::of(const codeobj::KernelMetadata &kernel) {
  const std::string_view name = kernel.name;
  if (!isHipHelper(name)) return std::nullopt;
  if (name.ends_with("_fillBufferAligned2D"))
    return find(kernel, Form::fill_rows,
                {"bufUChar", "bufUShort", "bufUInt", "bufULong", "patternSize", "offset", "width",
                 "height"});
  if (name.ends_with("_fillBufferAligned")) {
    if (const auto newer = find(kernel, Form::fill_to_end, {"buf", "end_ptr"})) return newer;
    return find(kernel, Form::fill,
                {"bufUChar", "bufUShort", "bufUInt", "bufULong", "patternSize", "offset", "size"});
  }
  if (name.ends_with("_copyBuffer")) {
    // With the end there, the size is one of bytes.
    if (const auto newer = find(kernel, Form::copy, {"src", "dst", "size", "end_ptr"}))
      return newer;
    return find(kernel, Form::copy_words,
                {"srcI", "dstI", "size", "srcOrigin", "dstOrigin", "remain"});
  }
  if (name.ends_with("_copyBufferRect") || name.ends_with("_copyBufferRectAligned"))
    return find(kernel, Form::copy_box, {"src", "dst", "size"});
  return std::nullopt;
}

std::optional<Blit> BlitKernel::read(std::span<const std::byte> block) const {
  if (block.size() < end_) return std::nullopt;
  const auto at = [&](std::size_t i, std::size_t part = 0) {
    uint64_t value = 0;
    std::memcpy(&value, block.data() + offsets_[i] + 8 * part, std::min(sizes_[i], 8u));
    return value;
  };
  Blit blit;
  bool is_right = true;
  switch (form_) {
  case Form::fill_to_end:
    blit.to = at(0);
    is_right = at(1) >= blit.to;
    blit.bytes = at(1) - blit.to;
    break;
  case Form::fill:
  case Form::fill_rows: {
    // One of the four pointers is there: the one to elements of the size that is written.
    std::size_t which = 0;
    while (which < 4 && at(which) == 0) ++which;
    if (which == 4) return std::nullopt;
    const uint64_t element = uint64_t{1} << which;
    blit.to = at(which) + at(5) * element;
    is_right = multiply(blit.bytes, {at(6), form_ == Form::fill ? 1 : at(7), at(4), element});
    break;
  }
  case Form::copy: blit = {at(1), at(0), at(2)}; break;
  case Form::copy_words:
    // One more than there are whole words, for the bytes that remain.
    is_right = at(2) != 0 && multiply(blit.bytes, {at(2) - 1, kWord});
    blit = {at(1) + at(4), at(0) + at(3), blit.bytes + at(5)};
    break;
  case Form::copy_box:
    // Three sizes, and what they count in.
    if (sizes_[2] != 32) return std::nullopt;
    is_right = multiply(blit.bytes, {at(2, 0), at(2, 1), at(2, 2), at(2, 3)});
    blit = {at(1), at(0), blit.bytes};
    break;
  }
  if (!is_right || blit.to == 0) return std::nullopt;
  return blit;
}

} // namespace fade
