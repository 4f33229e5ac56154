// What libfadecheck left behind, with places in the source instead of addresses.
#pragma once

#include "checks/finding_file.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fade::cli {

struct FoundFrame {
  std::string function, file;
  uint32_t line = 0, column = 0;
  bool operator==(const FoundFrame &) const = default;
};

/// An instruction, and the source it came from as far as that is known.
struct FoundPlace {
  checks::Place raw{};
  std::string module;            ///< codeobj::moduleIdOf its code; empty: not known
  std::vector<FoundFrame> stack; ///< innermost first
  FoundFrame shown;              ///< the innermost that is the user's own; without a file: unknown
  std::string source;            ///< the line's text
  std::string instruction;       ///< its text
  bool is_near = false;          ///< it has no line of its own: `shown` is of one beside it
  std::vector<uint32_t> merged;  ///< lines of the same file that are one instruction with `shown`
  bool is_of_byte = true;        ///< merged: `shown` is the line of the byte in question
};

struct FoundAllocation {
  checks::AllocationInfo raw{};
  std::string api, module; ///< what was called, and the file that called it
  uint64_t address = 0;    ///< in that file
  FoundFrame caller;       ///< the first that is the user's own, outside of helpers
  FoundFrame through;      ///< the helper that called; without a file: none
  FoundFrame freed_by;     ///< likewise; without a file: not freed, or unknown
};

/// Where an access that is not within its array lies (Finding::waves of array_bounds).
enum class ArrayReach : uint32_t {
  unknown, ///< outside of it
  element, ///< at Finding::distance from its end; one element
  across,  ///< in it and behind it; of several elements
  merged,  ///< at Finding::distance; of several elements
};

struct FoundFinding {
  checks::Finding raw{};
  std::string id;        ///< the same in other runs, also when lines move
  bool is_known = false; ///< in the baseline
  std::string kernel;    ///< demangled
  std::string symbol, gpu;
  std::string rule, cure;   ///< hazard: what is broken, and what would do; empty: s_nop
  std::string api;          ///< errors of the host: what it called
  std::string other_api;    ///< if the other side is the host's: what it called
  std::string other_kernel; ///< demangled; empty: the other side is in the same dispatch
  uint32_t process = 0;
  uint32_t inexact = 0;     ///< bits of Inexact, of its process
  std::set<uint64_t> ranks; ///< of a parallel job, on which it was seen
  FoundPlace place, other;
  bool is_turned = false; ///< races: `place` came first; else `other` did
  /// Races: how a wave comes from one side to the other. Which came first in the run is chance.
  enum class Path : uint8_t { unknown, forward, backward, loop };
  Path path = Path::unknown; ///< forward: from `place` on to `other`; loop: round, to the first
  FoundFrame narrow;         ///< races: a fence or atomic between, for the workgroup only
  uint32_t bare_barrier = 0; ///< races: a line of `place`'s file with one the compiler ignores
  FoundPlace between;        ///< races: an atomic that could have ordered them; else without a pc
  FoundAllocation allocation;
  std::vector<FoundFinding> details; ///< of the same cause
};

struct FoundRun {
  std::vector<FoundFinding> findings; ///< by check, file and line
  uint64_t dispatches = 0;            ///< that were checked
  uint64_t left_out = 0;              ///< dispatches that were not chosen
  uint64_t lost = 0;
  uint32_t inexact = 0;          ///< bits of Inexact
  uint32_t observer_version = 0; ///< of a GPU that is not of this FADE; else 0
  unsigned processes = 0;        ///< that used the GPU
  unsigned unreadable = 0;       ///< processes whose findings could not be kept
};

/// Reads all that is in the folder. Files that are damaged are left out. `with_leaks`: device
/// memory that was not freed is a finding.
FoundRun readFindings(const std::string &folder, bool with_leaks);
/// Adds what another process has found: what is one mistake is one finding.
void mergeFindings(FoundRun &all, FoundRun other);

} // namespace fade::cli
