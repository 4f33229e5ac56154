// The scalar registers of a wave, as code sees them between two points at which they must be in
// memory: values that were read or written are kept, and written back when somebody else may look.
#pragma once

#include "wave/wave.h"

#include <llvm/IR/IRBuilder.h>

#include <map>

namespace fade::sim::jit {

class ScalarFile {
public:
  ScalarFile(llvm::IRBuilder<> &builder, unsigned lanes) : b(builder), lanes_(lanes) {}
  void set_wave(llvm::Value *wave) { wave_ = wave; }

  llvm::Value *word(unsigned index);
  llvm::Value *pair(unsigned index);
  llvm::Value *mask(unsigned index); // of lanes, as 64 bits
  llvm::Value *scc();
  llvm::Value *exec(); // only lanes that there are
  void set_word(unsigned index, llvm::Value *value);
  void set_pair(unsigned index, llvm::Value *value);
  void set_mask(unsigned index, llvm::Value *value);
  void set_scc(llvm::Value *value);
  void set_exec(llvm::Value *value);

  void write_back();
  void write_exec(); // where a block of its own needs it; it stays to be written back
  void forget() { words_.clear(), scc_ = {}; }

  llvm::Value *field(size_t offset) const; // the address of a member of the wave

private:
  struct Kept {
    llvm::Value *value = nullptr;
    bool is_new = false;
  };
  llvm::Value *address(unsigned index) const;
  llvm::Value *lane_mask(llvm::Value *value) const;

  llvm::IRBuilder<> &b;
  llvm::Value *wave_ = nullptr;
  unsigned lanes_;
  std::map<unsigned, Kept> words_;
  Kept scc_;
};

} // namespace fade::sim::jit
