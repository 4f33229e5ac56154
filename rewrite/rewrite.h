// A finished code object, instrumented without its compiler: each kernel K gets a twin __fade_K
// that counts or records the blocks of K's machine code and its memory accesses (fade/clone.h,
// FADE_KERNEL_KEEPS_ARGUMENTS), and a site table.
#pragma once

#include "codeobj/code_object.h"

#include <functional>

namespace fade::rewrite {

struct KernelOutcome {
  std::string name;
  std::string refusal;                          ///< why it has no twin; empty: it has one
  uint32_t counters = 0, blocks = 0, sites = 0; ///< of blocks; recorded blocks; of accesses
  unsigned registers = 0, vector_registers = 0; ///< more than the original uses
  unsigned scratch = 0;                         ///< bytes of each lane beyond the original's
  uint64_t code_before = 0, code_after = 0;     ///< bytes
};

struct Rewritten {
  std::vector<uint8_t> file; ///< empty if no kernel has a twin
  std::vector<KernelOutcome> kernels;
};

/// `modes`: what twins do, as readRewriteModes() has it. `wants` chooses kernels by name.
/// `on_progress` is called now and then.
Result<Rewritten> rewriteObject(
    const std::shared_ptr<const codeobj::CodeObject> &object, uint32_t modes,
    const std::function<bool(const std::string &)> &wants,
    const std::function<void()> &on_progress = [] {});

} // namespace fade::rewrite
