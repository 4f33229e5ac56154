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
    uint32_t offset = 0;
    uint32_t size = 0;
    ArgKind kind = ArgKind::Other;
    std::string kind_text;
    std::string address_space;
    std::string name;
  };

  uint32_t size = 0;
  uint32_t alignment = 16;
  uint32_t explicit_end = 0;   ///< E
  uint32_t control_offset = 0; ///< H, where a clone's extra pointer stands
  uint32_t static_lds = 0;     ///< to tell the dynamic LDS of a dispatch
  std::vector<Argument> explicit_args;
  std::vector<Argument> hidden_args;

  /// Nothing if the metadata contradicts itself: an argument outside the block, or two of them on
  /// the same bytes.
  static Result<KernargLayout> from(const KernelMetadata &metadata);

  const Argument *findHidden(ArgKind kind) const;
};

/// Nothing if the lists are the same for a caller (offsets, sizes, kinds, address spaces; names do
/// not matter), else one line that names the first difference.
std::optional<std::string> difference(const KernargLayout &a, const KernargLayout &b);

/// The same where `clone` has one more explicit argument, a global pointer at
/// original.control_offset.
std::optional<std::string> differenceFromClone(const KernargLayout &original,
                                               const KernargLayout &clone);

/// What hidden arguments can be made from: the dispatch packet, and the queue if the caller knows
/// it.
struct DispatchFields {
  uint16_t dimensions = 1;
  uint16_t workgroup_size[3] = {1, 1, 1};
  uint32_t grid_size[3] = {1, 1, 1}; ///< in work-items
  uint32_t group_segment_size = 0;   ///< LDS, static and dynamic
  uint64_t queue = 0;
  uint32_t private_base = 0; ///< upper halves of the queue's aperture addresses
  uint32_t shared_base = 0;
};

/// The value of a hidden argument as far as the dispatch tells it. `static_lds` is the kernel's
/// own, to tell the dynamic LDS.
std::optional<uint64_t> hiddenValue(ArgKind kind, const DispatchFields &dispatch,
                                    uint32_t static_lds);

/// Copies bytes from one block of arguments to another, as far as both reach.
void copyArguments(ByteView from, std::size_t source, std::span<uint8_t> to,
                   std::size_t destination, std::size_t count) noexcept;

class KernargRewrite {
public:
  /// For a twin that was made from machine code (FADE_KERNEL_KEEPS_ARGUMENTS): all arguments stay
  /// where they are, the pointer is behind them. `size` is that of the twin's block, as its
  /// descriptor says.
  static Result<KernargRewrite> behind(const KernargLayout &original, uint32_t size);
  /// An error if `clone` does not take the original's arguments and one pointer.
  static Result<KernargRewrite> plan(const KernargLayout &original, const KernargLayout &clone);

  uint32_t size() const { return size_; }
  uint32_t alignment() const { return alignment_; }
  /// Hidden arguments of the clone that neither the original nor a dispatch packet provides; they
  /// are zero in the clone's block. A compiler names many that a kernel never reads, so this is
  /// worth a word, not a refusal.
  const std::vector<ArgKind> &zeroed() const { return zeroed_; }

  /// Writes the clone's block. `original` is the application's block and may be shorter than its
  /// layout says; `out` must have size() bytes. Returns false, and writes nothing, if it is
  /// smaller.
  bool build(ByteView original, const DispatchFields &dispatch, uint64_t control,
             std::span<uint8_t> out) const noexcept;

private:
  struct Made {
    ArgKind kind;
    uint32_t offset;
    uint32_t size;
  };
  uint32_t size_ = 0;
  uint32_t alignment_ = 16;
  uint32_t original_size_ = 0;
  uint32_t control_offset_ = 0;
  uint32_t static_lds_ = 0;
  bool moves_hidden_ = false;
  std::vector<Made> made_; ///< hidden arguments made from the dispatch
  std::vector<ArgKind> zeroed_;
};

/// plan() and build() in one, for tests and tools.
Result<std::vector<uint8_t>> buildCloneKernargs(const KernargLayout &original,
                                                const KernargLayout &clone, ByteView original_bytes,
                                                const DispatchFields &dispatch, uint64_t control);

} // namespace fade::codeobj
