// Compares the accesses that FADE's pass expects (a site table with FADE_MODE_MACHINE) with the
// machine code of the original kernel, place by place.
//
// The pass sees the kernel before instruction selection and knows most of what becomes of it. What
// the machine code does otherwise is corrected where it leaves no doubt (an access in pieces, a
// load by the scalar unit), and else named, so that a report can say it at that line.
#pragma once

#include "codeobj/code_object.h"
#include "fade/site_table.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fade::codeobj {

/// What instructions do at a place.
struct MachineAccess {
  std::string file; ///< of the innermost place, as the line table has it
  uint32_t line = 0, column = 0;
  uint32_t kind = 0; ///< FADE_SITE_LOAD, FADE_SITE_STORE, FADE_SITE_ATOMIC
  bool is_lds = false, is_scalar = false;
  uint32_t bytes = 0;     ///< of each address
  uint32_t addresses = 1; ///< two for ds_read2_b32
  std::string name;       ///< of the instruction
};

/// The table with what machine code says of its sites; nothing if it agrees. Kernels that are very
/// large, or have no line table, are left as they are.
std::optional<SiteTable> checkedByMachine(const SiteTable &table,
                                          const std::shared_ptr<const CodeObject> &object);

/// The same, given the accesses of each kernel of the table, by index, whose place is certain.
std::optional<SiteTable>
checkedByMachine(const SiteTable &table,
                 const std::map<uint32_t, std::vector<MachineAccess>> &machine);

} // namespace fade::codeobj
