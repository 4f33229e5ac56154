// What the user asked for: modes, kernels, places and address spaces.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>

namespace fade {

class Expression;

// A part of the source: a file, or some of its lines. A file is named by its last path components;
// without a name it is any file.
struct SourceScope {
  std::string file;
  unsigned first = 0;
  unsigned last = ~0u;

  bool contains(llvm::StringRef path, unsigned line) const;
};

struct Options {
  unsigned modes = 0; // FADE_MODE_*
  bool off = false;
  bool as_written = false; // accesses as they are before code is generated
  bool replace = false;    // the instrumented kernel takes the place of the original
  unsigned spaces = 0;     // bit n: accesses to AMDGPU's address space n
  // Up to so many accesses in a kernel, the runtime is inlined: as said, or as is best.
  std::optional<unsigned> inline_accesses;
  unsigned mostInlined() const { return inline_accesses.value_or(sums() ? 16 : 0); }
  std::shared_ptr<const Expression> kernels; // null: all
  llvm::SmallVector<SourceScope, 2> scopes;  // empty: everywhere
  std::string text;                          // as the user wrote it

  // Reads `accesses;blocks;kernels=REGEX;...`. The error shows the mistake.
  static llvm::Expected<Options> parse(llvm::StringRef text);
  // What FADE_INSTRUMENT says, accesses if it is not set.
  static llvm::Expected<Options> fromEnvironment();

  // Whether instrumented kernels only count, and write no records.
  bool hasNoStream() const;
  // Whether they may add accesses up instead of writing records.
  bool sums() const;
  bool wantsKernel(llvm::StringRef symbol) const;
  bool wantsSpace(unsigned space) const { return space < 32 && (spaces >> space & 1) != 0; }
  bool wantsPlace(llvm::StringRef path, unsigned line) const;
};

} // namespace fade
