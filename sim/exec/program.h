// A kernel's code, decoded piece by piece as waves reach it.
//
// The unit is a segment: straight-line code that ends where control, EXEC or the mode may change.
// Inside a segment the set of active lanes is constant, so what an instruction costs is counted
// once per segment, not once per instruction. It also ends where LDS is read after it was written
// or the other way round, for there a wave may have to wait for others (see ResidentGroup).
#pragma once

#include "base/address_space.h"
#include "exec/executor.h"
#include "exec/jit.h"
#include "isa/decoder.h"
#include "isa/hazards.h"
#include "isa/instruction.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fade::sim {

struct Segment {
  uint64_t start = 0;
  uint64_t end = 0;    // address behind the last instruction
  uint32_t number = 0; // in its program, from 0
  std::vector<Instruction> instructions;
  uint64_t length = 0; // how many these are
  struct Count {
    ExecClass cls;
    uint16_t instructions;
  };
  std::vector<Count> counts;     // of the classes that it has
  LdsUse lds_use = LdsUse::none; // of all its instructions: never both kinds
  bool block_start =
      false; // a branch may lead here, or one stands before it; false behind an EXEC change
  // What the code behind the last known instruction is, when the segment cannot go on.
  std::string unknown;
  bool unmapped = false; // there is not even memory

  // Followers met last, so that a loop need not look them up.
  mutable std::atomic<const Segment *> next[2] = {nullptr, nullptr};

  // Compiled code that does the same, when there is some.
  mutable std::atomic<const JitEntry *> code{nullptr};
  mutable std::atomic<uint64_t> heat{0};         // interpreted instructions, see WaveRunner
  mutable std::atomic<uint64_t> hot{jit_least};  // the heat from which on it may be worth it
  mutable std::atomic<bool> was_compiled{false}; // or somebody is about to
};

class Program {
public:
  Program(const Arch &arch, unsigned lanes, const AddressSpace &memory);
  ~Program();

  // No other program has or will have it, unlike the address: what is kept of a program goes by it.
  uint64_t number() const { return number_; }

  // The segment at `pc`. Never null: where there is no code, an empty segment that says so.
  const Segment *at(uint64_t pc);

  // Blocks begin where branches from there lead to, too, even if no wave starts there. To be told
  // before waves run.
  void add_entry(uint64_t pc);

  // Whether the code at `entry`, and what direct branches reach from there, has a barrier.
  bool has_barrier(uint64_t entry);

  // Whether memory still holds the code that was decoded.
  bool is_current() const;

  // Compiles `head` and code around it: a loop with all that waves have reached of it, or what
  // follows. `whole`: also what no wave has reached.
  void compile(const Segment &head, bool whole);

  std::string text(uint64_t pc); // the instruction there, for people

  // Of the code that waves have reached: bits of Inexact.
  uint32_t inexact() const;

  // The registers that the instruction there uses. Lives as long as the program.
  const RegisterUse &registers(uint64_t pc);
  // What rules about wait states ask of it. Lives as long, too.
  const HazardUse &hazard_use(uint64_t pc);
  const HazardTable &hazard_table() const { return hazard_table_; }

private:
  const Segment *segment_at(uint64_t pc);
  void explore(uint64_t pc);
  std::unique_ptr<Segment> build(uint64_t pc);

  const uint64_t number_; // from 1
  const Arch &arch_;
  const unsigned lanes_;
  const AddressSpace &memory_;
  Decoder decoder_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Segment>> segments_;
  uint32_t next_segment_ = 0;
  struct Code { // one instruction, or why there is none
    Instruction instruction;
    std::string unknown;
    bool unmapped = false;
  };
  std::unordered_map<uint64_t, Code> code_;
  std::unordered_set<uint64_t> leaders_; // starts of basic blocks
  struct Run {                           // straight-line code that was decoded
    uint64_t start;
    std::vector<uint8_t> bytes;
  };
  std::vector<Run> runs_;
  std::vector<std::unique_ptr<JitCode>> compiled_;
  bool has_unknown_ = false;
  std::unordered_map<uint64_t, std::unique_ptr<RegisterUse>> register_uses_;
  const HazardTable hazard_table_;
  std::unordered_map<uint64_t, std::unique_ptr<HazardUse>> hazard_uses_;
  std::atomic<bool> explored_{false}, has_barrier_{false};
  std::atomic<uint32_t> inexact_{0};
  std::atomic<bool> divides_{false};
};

} // namespace fade::sim
