// What a wave finds in its registers when a kernel begins, what its twin finds there, and the
// twin's kernel descriptor.
#pragma once

#include "rewrite/program.h"

#include "codeobj/code_object.h"

#include <array>
#include <vector>

namespace fade::rewrite {

/// gfx9: VCC, FLAT_SCRATCH and XNACK_MASK are allocated behind the kernel's own registers.
inline constexpr unsigned kExtraRegisters = 6;
inline constexpr unsigned kVectorRegisters = 256; ///< at most

/// Where a twin finds the address of its fade_control in its arguments: behind all of the
/// original's.
uint32_t controlOffset(const codeobj::Kernel &kernel);

class LaunchRegisters {
public:
  /// `uses_scratch`: the twin does, for itself.
  LaunchRegisters(const codeobj::CodeObject &object, const codeobj::Kernel &kernel,
                  bool uses_scratch = false)
      : object_(object), kernel_(kernel), uses_scratch_(uses_scratch) {}

  /// Nothing, or why the twin cannot find its arguments, or its scratch.
  Status check() const;

  /// Where the address of the arguments is when the twin begins.
  unsigned kernargRegister() const;
  /// Where the address of the packet is, if the kernel wants it.
  unsigned packetRegister() const;
  /// The kernel itself has no arguments, and its twin gets a pointer to them: what comes behind it
  /// in registers has to be moved back.
  bool addsPointer() const;
  /// Registers that are set when a wave of the original begins, up to the last that a pointer more
  /// would move.
  unsigned registersAtStart() const;
  /// Registers that waves can have without being fewer on a compute unit.
  unsigned scalarLimit() const;
  /// Behind the kernel's own vector registers. Code that is not known may use all that the kernel
  /// is given.
  unsigned firstVector(const Program &program) const;

  /// A twin that knows its workgroup: where it finds that, and what has to be moved to where the
  /// original finds it, in this order.
  struct Move {
    unsigned to = 0, from = 0;
  };
  struct WithWorkgroup {
    std::array<unsigned, 3> workgroup{}; ///< registers; not on gfx12
    std::vector<Move> moves;
    /// Where FLAT_SCRATCH is computed: the address of the queue's scratch, and the wave's offset.
    unsigned scratch = 0, scratch_offset = 0;
    unsigned end = 0; ///< of the registers that are set
  };
  WithWorkgroup withWorkgroup() const;

  struct Needs {
    unsigned scalars = 0;       ///< number of the last register and one; 0: as the original
    unsigned vectors = 0;       ///< registers from v0 on; 0: as the original
    bool has_workgroup = false; ///< as withWorkgroup()
    unsigned scratch = 0;       ///< bytes of each lane beyond the original's
  };
  /// Without the entry's offset.
  std::array<uint8_t, codeobj::kDescriptorSize> descriptor(const Needs &needs) const;
  /// Whether a twin that uses scratch has to compute FLAT_SCRATCH.
  bool setsFlatScratch() const;
  /// Of the original, for each lane.
  unsigned scratchBytes() const;
  /// Whether a workgroup of the largest size still fits on a compute unit.
  bool fits(unsigned vectors) const;

private:
  bool hasSpareUserRegisters() const;
  unsigned usedUserRegisters() const;
  unsigned firstOfScratch() const;
  bool addsScratch() const;
  unsigned userRegisters() const;
  unsigned vectorsWithAccumulators(unsigned vectors) const;

  const codeobj::CodeObject &object_;
  const codeobj::Kernel &kernel_;
  const bool uses_scratch_;
};

} // namespace fade::rewrite
