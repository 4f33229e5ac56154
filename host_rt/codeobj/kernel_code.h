// The code of one function, taken apart: instructions, basic blocks, control flow, and what each
// block costs.
#pragma once

#include "codeobj/code_object.h"
#include "codeobj/instruction.h"
#include "codeobj/source_map.h"

#include <array>
#include <map>

namespace fade::codeobj {

struct InstructionMix {
  std::array<uint32_t, kUnitCount> by_unit{};
  uint64_t lane_flops = 0; ///< per lane
  uint64_t wave_flops = 0; ///< matrix and scalar instructions, per wave
  /// Bytes per lane; of scalar memory, per wave.
  uint64_t vmem_loaded = 0;
  uint64_t vmem_stored = 0;
  uint64_t vmem_atomic = 0;
  uint64_t lds_loaded = 0;
  uint64_t lds_stored = 0;
  uint64_t lds_atomic = 0;
  uint64_t scalar_loaded = 0;

  uint32_t count(Unit unit) const { return by_unit[static_cast<std::size_t>(unit)]; }
  uint32_t instructions() const;
  /// With all lanes active.
  uint64_t flopsPerWave(unsigned lanes) const { return lane_flops * lanes + wave_flops; }
  uint64_t vmemBytesPerWave(unsigned lanes) const {
    return (vmem_loaded + vmem_stored + vmem_atomic) * lanes;
  }
  void add(const InstructionInfo &info);
  void add(const InstructionMix &other);
};

struct BasicBlock {
  std::size_t first = 0; ///< index of the first instruction
  std::size_t count = 0;
  std::vector<std::size_t> successors; ///< blocks; the one that follows in the code comes first
  /// Control leaves by a jump to a place that is not known, or by one to another function.
  bool leaves = false;
  InstructionMix mix;
};

struct KernelCode {
  std::vector<Instruction> instructions;
  std::vector<InstructionInfo> info; ///< of each instruction
  std::vector<BasicBlock> blocks;    ///< in the order of the code
  InstructionMix mix;
  std::string disassembled_by;

  /// The block that holds instruction `index`.
  std::size_t blockOf(std::size_t index) const;
};

/// Takes apart instructions that follow one another.
KernelCode analyze(std::vector<Instruction> instructions);

/// Older GPUs reach scratch memory through a descriptor, like any buffer: it is in the first
/// registers, which the ABI gives it, or was copied from there. Such accesses get the space of
/// scratch memory. Only for kernels that have some, and what they call.
void findScratch(KernelCode &code);
bool hasScratch(const Kernel &kernel);

/// The code of a kernel.
Result<KernelCode> analyzeKernel(const CodeObject &object, const Kernel &kernel);

/// A memory access at the level of the machine: what the compiler made of the accesses of a source
/// line, which may be one dwordx4 for four floats.
struct LineAccess {
  uint64_t address = 0;
  MemoryOperation operation = MemoryOperation::None;
  MemorySpace space = MemorySpace::None;
  uint32_t width = 0;
};
using LineAccesses = std::map<std::pair<std::string, uint32_t>, std::vector<LineAccess>>;

/// By file and line, in the order of the code. An inlined access counts for its innermost line.
LineAccesses accessesByLine(const KernelCode &code, const SourceMap &source);

} // namespace fade::codeobj
