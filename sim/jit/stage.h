// Vector instructions that are run together: one loop over chunks of lanes, in which a chunk goes
// through all of them with its values in the host's registers. Behind the loop all registers of the
// wave are in memory again.
//
// EXEC is constant in a stage, so values of inactive lanes are dropped only where a register goes
// back to memory. A scalar operand is read when the instruction is added; a mask that the stage
// itself makes is known lane by lane inside it, and as a scalar only behind it.
#pragma once

#include "exec/jit_code.h"
#include "jit/lane_builder.h"
#include "jit/scalar_file.h"

#include <map>
#include <set>
#include <vector>

namespace fade::sim::jit {

class Stage {
public:
  Stage(llvm::IRBuilder<> &builder, ScalarFile &scalars, const JitRequest &request,
        llvm::Value *rows, unsigned width)
      : b(builder), scalars_(scalars), request_(request), rows_(rows), width_(width) {}

  // Whether there is code for an instruction.
  bool knows(const Instruction &in) const;
  void add(const Instruction &in);
  // Whether a vector register is among its results.
  bool writes(unsigned row) const { return written_.contains(row); }
  // Whether some of these scalar registers get their value only when the stage has run.
  bool defines(unsigned index, unsigned count) const;
  // Makes the loop.
  void run();
  bool empty() const { return steps_.empty(); }

private:
  struct Source {
    llvm::Value *scalar = nullptr; // its value in all lanes; a mask's 64 bits
    int made_by = -1;              // a mask that this step makes
  };
  struct Step {
    const Instruction *in;
    VectorOperation operation;
    Source sources[4];
    bool with_next = false; // reads its operands before the next one, and writes behind it
    bool is_pair = false;   // of f32, in two registers
  };
  struct Chunk;

  bool knows_half(const Instruction &in) const;
  bool knows_pair(const Instruction &in) const;
  void add_half(const Instruction &in, bool with_next);
  void add_pair(const Instruction &in);
  LaneBuilder::Mode load_mode();
  Source source_of(const Instruction &in, unsigned number);
  void make_chunk(Chunk &chunk);
  llvm::Value *operand(Chunk &chunk, const Step &step, unsigned number);
  llvm::Value *half_of_pair(Chunk &chunk, const Step &step, unsigned number, bool high);
  void put_pair(Chunk &chunk, const Step &step);
  llvm::Value *modified(Chunk &chunk, const Step &step, llvm::Value *result);
  void put(Chunk &chunk, const Step &step, llvm::Value *result);
  void set(Chunk &chunk, unsigned index, llvm::Value *value);
  void store(Chunk &chunk);
  llvm::Value *load(const Chunk &chunk, unsigned index);
  llvm::Value *row(Chunk &chunk, unsigned index);
  llvm::Value *pair_of_rows(Chunk &chunk, unsigned index);
  llvm::Value *address(const Chunk &chunk, unsigned index);
  llvm::Value *lanes_of_mask(llvm::Value *mask, llvm::Value *first_lane);
  llvm::Value *expanded_exec(llvm::Value *exec);
  llvm::Value *bits_of(llvm::Value *lanes);

  llvm::IRBuilder<> &b;
  ScalarFile &scalars_;
  const JitRequest &request_;
  llvm::Value *rows_;
  unsigned width_;
  std::vector<Step> steps_;
  std::map<unsigned, int> masks_; // scalar register (pair): the step that makes it
  bool sets_exec_ = false;        // by a comparison that does just that
  std::set<unsigned> written_;    // vector registers
};

} // namespace fade::sim::jit
