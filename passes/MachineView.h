// Makes the accesses of a clone those that the machine will make for the original.
//
// The code generator merges neighbouring loads and stores, removes repeated ones and lets one lane
// of a wave do the atomics of all. It would do nothing of the kind to the clone, because records
// stand between its accesses. So the same passes run on the clone before it is instrumented, in the
// order in which the code generator will run them on the original: the records then show one access
// of 16 bytes where the original will have one global_load_dwordx4.
#pragma once

#include "AccessFinder.h"

#include "llvm/IR/PassManager.h"
#include "llvm/IR/ValueHandle.h"

#include <vector>

namespace llvm {
class PassBuilder;
} // namespace llvm

namespace fade {

// The code generator's passes that change what is accessed, as far as this LLVM has them.
llvm::FunctionPassManager machinePasses(llvm::PassBuilder &builder, unsigned speed_level);

// Remembers the accesses of a function, to tell later what became of them.
class AccessHistory {
public:
  explicit AccessHistory(const std::vector<Access> &accesses);

  struct Gone {
    fade_site site{}; // kind, flags, space and size
    const llvm::DILocation *place = nullptr;
    const llvm::Instruction *by = nullptr; // what makes the access now; null if nothing does
  };
  // Those that are not there any more, given the accesses that are there now.
  std::vector<Gone> gone(const std::vector<Access> &now) const;
  // Of what has taken the place of an atomic operation: FADE_SITE_IS_COMBINED if it is one for all
  // lanes together, FADE_SITE_IS_LOOP if it is part of a loop that does it; else 0.
  uint32_t atomicFlags(const Access &now) const;

private:
  struct Entry {
    const llvm::Instruction *instruction; // may be gone: only compared
    llvm::WeakTrackingVH became;          // follows the value to what replaced it
    llvm::WeakTrackingVH stored;          // the value that a store wrote
    const llvm::DILocation *place;
    fade_site site;
    bool isThere() const { return became == instruction; }
  };
  std::vector<Entry> entries_;
};

// Behind instruction selection what has the same base and lies side by side is merged, too: all of
// it at -O1, where the passes above merge nothing, and at other levels accesses of different widths
// (a float4 of HIP 6 is loaded as 4, 8 and 4 bytes). What becomes of them, without changing the
// function: the first of them is as wide as all, the others are gone.
void mergeSameBase(std::vector<Access> &accesses, std::vector<AccessHistory::Gone> &gone);

// LDS variables are put together by the code generator, at better places than they ask for. What is
// accessed at a constant place in one is as well aligned as that will make it, which decides what
// is merged and how it is made. Comes before machinePasses().
void alignLdsAccesses(llvm::Function &function);

// Accesses to LDS that are wider than they are aligned are made by instructions with two addresses
// (ds_read2_b32), which take turns of their own: the widest piece of those that stay
// (FADE_SITE_PIECE).
void splitLdsAccesses(std::vector<Access> &accesses);

// Flags of accesses as the machine makes them: FADE_SITE_IS_SCALAR for loads by the scalar unit.
void markScalarLoads(llvm::Function &function, llvm::FunctionAnalysisManager &analyses,
                     std::vector<Access> &accesses);

} // namespace fade
