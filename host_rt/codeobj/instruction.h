// What an instruction does, told from its mnemonic: the unit that executes it, the memory it
// touches, the arithmetic it does.
#pragma once

#include "codeobj/disassembler.h"

namespace fade::codeobj {

enum class Unit : uint8_t {
  Valu,    ///< vector arithmetic
  Salu,    ///< scalar arithmetic
  Smem,    ///< scalar memory
  Vmem,    ///< vector memory: global, flat, scratch, buffer, image
  Lds,     ///< local data share
  Matrix,  ///< MFMA, WMMA and their sparse forms
  Branch,  ///< jumps, calls and the end of the program
  Barrier, ///< workgroup barriers
  Wait,    ///< s_waitcnt and the like
  Other,   ///< messages, hints, exports, cache control
  Invalid, ///< bytes that are no instruction
};
inline constexpr std::size_t kUnitCount = 11;
std::string_view to_string(Unit unit);

enum class MemoryOperation : uint8_t { None, Load, Store, Atomic };
std::string_view to_string(MemoryOperation operation);

enum class MemorySpace : uint8_t {
  None,
  Global,
  Flat,
  Scratch,
  Buffer, ///< through a buffer descriptor: global memory or scratch
  Image,
  Constant, ///< scalar loads
  Lds,
  Gds,
};
std::string_view to_string(MemorySpace space);

/// How control goes on behind an instruction.
enum class Flow : uint8_t {
  Next,
  Jump,        ///< always, to a constant place
  Conditional, ///< to a constant place, or on
  Indirect,    ///< to a place in registers: a return, or a jump table
  Call,        ///< and back
  End,
};

/// Of arithmetic; of products that are summed up, that of the factors.
enum class NumberType : uint8_t { None, F64, F32, F16, Bf16, F8, Integer };

struct InstructionInfo {
  Unit unit = Unit::Invalid;
  MemoryOperation memory = MemoryOperation::None;
  MemorySpace space = MemorySpace::None;
  Flow flow = Flow::Next;
  /// Bytes of memory one lane touches (a scalar access: the whole wave).
  uint32_t width = 0;
  /// Floating-point operations of one lane: an addition, multiplication or transcendental is one, a
  /// fused multiply-add two; conversions, comparisons, minimum and maximum are none.
  uint32_t lane_flops = 0;
  /// Of the whole wave. Unit::Matrix: 2·M·N·K·blocks; Unit::Salu: as lane_flops of one lane.
  uint32_t wave_flops = 0;
  NumberType flop_type = NumberType::None; ///< Integer: wave_flops are not floating-point
  bool is_packed = false;                  ///< several values in a register
  bool also_lds = false;                   ///< a load from memory that goes into LDS
  bool has_two_addresses = false;          ///< ds_read2_b32, ds_load_2addr_b32: half of width each
};

InstructionInfo classify(std::string_view text);

/// Whether lanes may be gone, or back, behind it. Looks at the text: EXEC is written by name, or by
/// names that say so.
bool mayChangeExec(const Instruction &instruction);

/// Line tables have the line of a clause's first instruction (s_clause) for all of them. Takes the
/// instructions of a function in order.
class ClauseLines {
public:
  /// Whether this one has the line of another.
  bool shares(const Instruction &instruction);

private:
  uint32_t left_ = 0; ///< instructions of the clause, this one and those behind it
  bool is_first_ = false;
};

/// The constant target of a branch or call whose encoding starts at `code`.
std::optional<uint64_t> branchTarget(const Instruction &instruction, ByteView code);

} // namespace fade::codeobj
