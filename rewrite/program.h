// The code of a kernel as a rewriter needs it: all instructions that can be reached from its entry,
// in functions that it calls as well, where each goes on, and which addresses it computes from the
// program counter. What is not understood is an error with the reason: such a kernel stays as it
// is.
#pragma once

#include "codeobj/code_object.h"
#include "isa/arch.h"

#include <bitset>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fade::rewrite {

inline constexpr unsigned kScalarRegisters = 106; ///< at most, s0 to s105

/// Behind the entry: where hardware that preloads arguments into registers starts.
inline constexpr uint64_t kPreloadedEntry = 256;

enum class Flow : uint8_t {
  next,
  jump,        ///< to one of `targets`, always
  conditional, ///< to the one of `targets` or on
  call,        ///< of one of the functions at `targets`, and on
  jump_back,   ///< a function returns
  end,         ///< the wave ends
};

struct Instruction {
  uint64_t address = 0;
  uint32_t size = 0;
  std::string mnemonic;
  Flow flow = Flow::next;
  /// In the original code. More than one: registers hold one of them.
  std::vector<uint64_t> targets;
  bool is_relative = false; ///< the target is encoded as a distance in 16 bits
  bool reads_scc = false, writes_scc = false, writes_exec = false, is_matrix = false;
  bool ends_registers = false;    ///< s_sendmsg dealloc_vgprs
  std::bitset<128> reads, writes; ///< scalar registers
  /// Behind the last vector register that it names, without AGPRs. Empty: not known.
  std::optional<unsigned> vectors = 0;
  uint32_t word = 0, literal = 0;

  uint64_t next() const { return address + size; }
  bool reachesNext() const {
    return flow == Flow::next || flow == Flow::conditional || flow == Flow::call;
  }
};

/// An address that s_getpc_b64 and what follows it compute: where it is encoded.
struct PcAddress {
  uint64_t getpc = 0;       ///< address of s_getpc_b64
  uint64_t low = 0;         ///< of the instruction whose literal is the distance, or part of it
  uint64_t high = 0;        ///< of the one that adds the upper half
  uint64_t target = 0;      ///< what is computed
  bool is_backward = false; ///< the upper half is that of s_subb_u32
  bool is_called = false;   ///< control goes there, in this kernel
};

struct Program {
  std::map<uint64_t, Instruction> instructions;
  std::vector<PcAddress> pc_addresses;
  std::vector<uint64_t> entries;   ///< of the kernel
  std::vector<uint64_t> functions; ///< that are called
  /// s_swappc_b64, and s_setpc_b64 in functions, that take an address which is not known: that of
  /// one of `pointed_to`, in the original code, or of anything else that keeps to the ABI.
  std::set<uint64_t> pointer_calls;
  std::set<uint64_t> pointed_to; ///< among the functions

  /// The instructions that `i` goes on at.
  std::vector<uint64_t> successors(const Instruction &i) const;
  /// All instructions that are reached from some, without those of functions that are called.
  std::set<uint64_t> reachedFrom(std::vector<uint64_t> to_do) const;
  /// Addresses before which SCC holds something that is read later.
  std::map<uint64_t, bool> sccLiveness() const;
  /// gfx9: between s_set_gpr_idx_on and _off vector instructions mean other registers. An error if
  /// there is such a place there, or control goes elsewhere.
  Status checkIndexing(const std::function<bool(uint64_t)> &isPlace) const;
  /// Scalar registers that any instruction reads or writes.
  std::bitset<128> used() const;
  /// Behind the last vector register that any instruction names, without AGPRs. Empty: not known.
  std::optional<unsigned> vectors() const;
};

/// Scalar registers that functions leave as they are, in every version of the ABI.
bool isKeptByFunctions(unsigned r);

/// The GPU whose instructions code for a processor, or a generic target, consists of; null: such
/// code is not rewritten.
const sim::Arch *archOf(const codeobj::Target &target);

/// Reads the code of a kernel.
Result<Program> readProgram(const codeobj::CodeObject &object, const codeobj::Kernel &kernel);

} // namespace fade::rewrite
