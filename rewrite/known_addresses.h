// Which of the addresses that a kernel computes from the program counter are in which scalar
// registers, before each instruction: by following all ways through the code.
#pragma once

#include "rewrite/program.h"

#include <array>
#include <map>
#include <set>
#include <vector>

namespace fade::rewrite {

class KnownAddresses {
public:
  /// `is_assembly`: functions may use all registers. Others keep to the ABI.
  KnownAddresses(const Program &program, bool is_assembly);

  using Numbers = std::set<int>; ///< of Program::pc_addresses
  /// The addresses of which a call or jump through registers takes one, whichever way led to it.
  /// Empty: these may hold something else.
  Numbers targetsOf(const Instruction &i) const;
  /// Addresses that are read by something else than calls and jumps of `known`.
  Numbers seenAsData(const std::set<uint64_t> &known) const;

private:
  /// What a register may hold: halves of addresses, or anything else.
  using Halves = std::set<int>;
  static constexpr int kAnythingElse = -1;
  static int half(int number, bool is_high) { return 2 * number + (is_high ? 1 : 0); }

  using Id = int; ///< of sets_
  static constexpr Id kUnknown = 0;
  static constexpr unsigned kRegisters = 128;
  using State = std::array<Id, kRegisters>;

  void follow();
  void step(const Instruction &i, State &state);
  bool isKept(const Instruction &call, const State &state, unsigned r) const;
  Numbers targetsOf(const Instruction &i, const State &state) const;
  Id idOf(const Halves &halves);
  Id either(Id a, Id b);
  void add(Id held, Numbers &to) const;

  const Program &program_;
  const bool is_assembly_;
  std::bitset<128> written_by_functions_, read_by_functions_;
  std::map<uint64_t, int> completed_; ///< by the instruction behind which a pair holds an address
  std::vector<Halves> sets_{{kAnythingElse}};
  std::map<Halves, Id> ids_{{{kAnythingElse}, kUnknown}};
  std::map<std::pair<Id, Id>, Id> unions_;
  std::map<uint64_t, State> states_; ///< before each instruction
};

} // namespace fade::rewrite
