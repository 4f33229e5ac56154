// The function for a region: some segments of a program that lead to each other.
//
//   entry      to the segment that the caller asks for
//   check_N    what the interpreter does about LDS before segment N
//   segment_N  counts, instructions, and where to next
//   leave_N    to the interpreter, which goes on with what stands at the wave's pc
//
// All registers are in memory between two segments, and before an instruction's handler is called.
#pragma once

#include "exec/program.h"
#include "jit/scalar_operations.h"
#include "jit/stage.h"

#include <llvm/IR/Module.h>

#include <map>

namespace fade::sim::jit {

class RegionBuilder {
public:
  RegionBuilder(llvm::Module &module, const JitRequest &request, unsigned width);

  llvm::Function *build(const char *name);

  uint32_t translated() const { return translated_; }
  uint32_t called() const { return called_; }

private:
  struct Part {
    const Segment *segment;
    llvm::BasicBlock *check, *body;
  };
  void declare(const char *name);
  void make_check(const Part &part);
  void make_segment(const Part &part);
  void count(const Segment &segment);
  bool make_lane_access(const Instruction &in);
  void make_instruction(const Instruction &in);
  void call_handler(const Instruction &in);
  void finish(const Segment &segment);
  void go_on(uint64_t pc);
  llvm::BasicBlock *leave(uint64_t pc);
  void add_to(llvm::Value *address, llvm::Value *value);
  llvm::BasicBlock *block(const char *name);
  llvm::Constant *pointer(const void *host) const;
  llvm::Value *field(size_t offset) const { return scalars_.field(offset); }

  llvm::Module &module_;
  const JitRequest &request_;
  unsigned width_;
  llvm::IRBuilder<> b;
  llvm::Function *function_ = nullptr;
  llvm::Value *wave_ = nullptr, *frame_ = nullptr, *budget_ = nullptr, *done_ = nullptr;
  llvm::Value *stats_ = nullptr, *rows_ = nullptr;
  ScalarFile scalars_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<ScalarOperations> operations_;
  std::map<uint64_t, Part> parts_; // by address
  std::map<uint64_t, llvm::BasicBlock *> exits_;
  uint32_t translated_ = 0, called_ = 0;
};

} // namespace fade::sim::jit
