// The kernel-argument block as a value, and the rewriting of an application's block for an
// instrumented kernel.
//
//   offset 0          E      H = E rounded up to 8
//   | explicit args   | pad  | hidden args (filled in by the language runtime)     |    original
//   | explicit args   | pad  | control pointer, 8 bytes | hidden args, moved by 8  |    clone
//
// A KernargRewrite is made once per pair of kernels and says there and then what is impossible;
// applying it is a few copies into memory of the caller, without allocation, so it can stand in the
// path of every dispatch.
#pragma once

#include "codeobj/metadata.h"

#include <span>
#include <vector>

namespace fade::codeobj {

struct KernargLayout {
  struct Argument {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    ArgKind kind = ArgKind::Other;
    std::string kind_text;
    std::string address_space;
    std::string name;
  };

  std::uint32_t size = 0;
  std::uint32_t alignment = 16;
  std::uint32_t explicit_end = 0;   ///< E
  std::uint32_t control_offset = 0; ///< H, where a clone's extra pointer stands
  std::uint32_t static_lds = 0;     ///< to tell the dynamic LDS of a dispatch
  std::vector<Argument> explicit_args;
  std::vector<Argument> hidden_args;

  /// Nothing if the metadata contradicts itself: an argument outside the block, or two of them on
  /// the same bytes.
  static Result<KernargLayout> from(const KernelMetadata &metadata);

  const Argument *find_hidden(ArgKind kind) const;
};

/// Nothing if the lists are the same for a caller (offsets, sizes, kinds, address spaces; names do
/// not matter), else one line that names the first difference.
std::optional<std::string> difference(const KernargLayout &a, const KernargLayout &b);

/// The same where `clone` has one more explicit argument, a global pointer at
/// original.control_offset.
std::optional<std::string> difference_from_clone(const KernargLayout &original,
                                                 const KernargLayout &clone);

/// What hidden arguments can be made from: the dispatch packet, and the queue if the caller knows
/// it.
struct DispatchFields {
  std::uint16_t dimensions = 1;
  std::uint16_t workgroup_size[3] = {1, 1, 1};
  std::uint32_t grid_size[3] = {1, 1, 1}; ///< in work-items
  std::uint32_t group_segment_size = 0;   ///< LDS, static and dynamic
  std::uint64_t queue = 0;
  std::uint32_t private_base = 0; ///< upper halves of the queue's aperture addresses
  std::uint32_t shared_base = 0;
};

/// The value of a hidden argument as far as the dispatch tells it. `static_lds` is the kernel's
/// own, to tell the dynamic LDS.
std::optional<std::uint64_t> hidden_value(ArgKind kind, const DispatchFields &dispatch,
                                          std::uint32_t static_lds);

class KernargRewrite {
public:
  /// An error if `clone` does not take the original's arguments and one pointer.
  static Result<KernargRewrite> plan(const KernargLayout &original, const KernargLayout &clone);

  std::uint32_t size() const { return size_; }
  std::uint32_t alignment() const { return alignment_; }
  /// Hidden arguments of the clone that neither the original nor a dispatch packet provides; they
  /// are zero in the clone's block. A compiler names many that a kernel never reads, so this is
  /// worth a word, not a refusal.
  const std::vector<ArgKind> &zeroed() const { return zeroed_; }

  /// Writes the clone's block. `original` is the application's block and may be shorter than its
  /// layout says; `out` must have size() bytes. Returns false, and writes nothing, if it is
  /// smaller.
  bool build(ByteView original, const DispatchFields &dispatch, std::uint64_t control,
             std::span<std::uint8_t> out) const noexcept;

private:
  struct Made {
    ArgKind kind;
    std::uint32_t offset;
    std::uint32_t size;
  };
  std::uint32_t size_ = 0;
  std::uint32_t alignment_ = 16;
  std::uint32_t original_size_ = 0;
  std::uint32_t control_offset_ = 0;
  std::uint32_t static_lds_ = 0;
  bool moves_hidden_ = false;
  std::vector<Made> made_; ///< hidden arguments made from the dispatch
  std::vector<ArgKind> zeroed_;
};

/// plan() and build() in one, for tests and tools.
Result<std::vector<std::uint8_t>> build_clone_kernargs(const KernargLayout &original,
                                                       const KernargLayout &clone,
                                                       ByteView original_bytes,
                                                       const DispatchFields &dispatch,
                                                       std::uint64_t control);

} // namespace fade::codeobj
