// What callers of a kernel rely on: its name, arguments and launch bounds, from the metadata of a
// code object.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fade::codeobj {
struct Kernel;
}

namespace fade::cli {

struct Signature {
  std::string kernel;             ///< mangled
  std::vector<std::string> parts; ///< sentences; two signatures are the same if these are
  uint32_t most_work_items = 0;   ///< of a workgroup, and this
};

Signature signatureOf(const codeobj::Kernel &kernel);
/// One sentence per line.
std::string textOf(const Signature &signature);
/// Of the kernel with this name, in a code object, a bundle or a program, for this GPU.
Result<Signature> signatureOf(const std::string &path, const std::string &kernel,
                              const std::string &gpu);
/// Empty: none. Workgroups may be bound to fewer work-items, but not to less than `enough`; 0: they
/// may not.
std::string differenceOf(const Signature &before, const Signature &after, uint64_t enough = 0);

} // namespace fade::cli
