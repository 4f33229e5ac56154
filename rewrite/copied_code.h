// Machine code that is moved, as bytes, with more between the instructions: branches and addresses
// that are computed from the program counter still lead to where they did.
#pragma once

#include "rewrite/assembler.h"
#include "rewrite/program.h"

namespace fade::rewrite {

/// Branches reach 128 KiB. Longer ones go over islands in the code, where for each of them there is
/// another branch. Which ones are needed is known when the code has been written, and written again
/// with them.
struct Islands {
  using Target = std::pair<bool, uint64_t>; ///< a label, or an address of the original
  std::vector<std::set<Target>> targets;    ///< by island
  bool has_more = false;                    ///< than the code was written with
};

class CopiedCode {
public:
  /// `address`: where the copy will be.
  CopiedCode(const codeobj::CodeObject &object, const Program &program, uint64_t address,
             Assembler &assembler, Islands &islands)
      : object_(object), program_(program), address_(address), assemble_(assembler),
        islands_(islands) {}

  std::size_t size() const { return code_.size(); }
  uint64_t address() const { return address_ + code_.size(); } ///< of what is put next

  // What is inserted.
  void put(const std::vector<std::string> &lines);
  using Label = std::size_t;
  Label label();
  void place(Label label); ///< here
  /// A branch, or a call with all but its last operand: "s_call_b64 s[0:1],".
  void jump(const std::string &instruction, Label to);
  void jumpToCopy(const std::string &instruction, uint64_t original);
  /// The next one; what is before must jump over it.
  void putIsland();

  // What is copied, in the order of addresses.
  /// What is put from now on is executed before the instruction: jumps to it lead here.
  void beginAt(const Instruction &i);
  void copy(const Instruction &i);
  /// The instruction has no copy; something else may be put.
  void leaveOut(const Instruction &i);

  /// Behind all: what hardware may fetch.
  void pad();
  /// All of it, connected.
  Result<std::vector<uint8_t>> finish();

private:
  struct Jump {
    uint32_t at = 0;
    uint64_t target = 0; ///< an address of the original, or a label
    bool is_own = false;
  };
  uint32_t here() const { return static_cast<uint32_t>(code_.size()); }
  uint32_t word(uint32_t at) const;
  void setWord(uint32_t at, uint32_t value);
  Status connect();
  /// Where a jump goes that does not reach its target.
  std::optional<uint32_t> islandFor(const Jump &jump, uint32_t to);
  Status moveAddresses();

  const codeobj::CodeObject &object_;
  const Program &program_;
  const uint64_t address_;
  Assembler &assemble_;
  Islands &islands_;
  struct Island {
    uint32_t at = 0;
    std::map<Islands::Target, uint32_t> branches;
  };
  std::vector<Island> placed_;
  std::vector<uint8_t> code_;
  std::vector<uint32_t> labels_;
  std::map<uint64_t, uint32_t> moved_;        ///< where jumps to an instruction go
  std::map<uint64_t, uint32_t> instructions_; ///< where it is itself
  std::vector<Jump> jumps_;
};

} // namespace fade::rewrite
