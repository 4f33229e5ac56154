#include "isa/instruction.h"

#include <cstddef>
#include <iterator>

namespace fade::sim {

const char *name_of(ExecClass c) {
  static constexpr const char *names[] = {"valu", "salu", "vmem_load", "vmem_store", "vmem_atomic",
                                          "smem", "lds",  "branch",    "mfma",       "other"};
  static_assert(std::size(names) == static_cast<size_t>(ExecClass::count));
  return names[static_cast<size_t>(c)];
}

} // namespace fade::sim
