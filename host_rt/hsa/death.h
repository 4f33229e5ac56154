// How a run on the GPU died: everything that is known, as data, and in words and as JSON.
#pragma once

#include "dispatch/residency.h"
#include "hsa/host_stack.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade {

/// Memory of the application, and where it lies to an address.
struct DeathMemory {
  enum class Relation { into, beyond, before } relation = Relation::into;
  uint64_t distance = 0; ///< bytes: into it, beyond its end, before its start
  uint64_t number = 0, address = 0, size = 0;
  bool was_freed = false;
  std::vector<HostFrame> allocated_by, freed_by;
};

/// An argument of a kernel that points into memory of the application.
struct DeathArgument {
  uint64_t byte = 0; ///< in the argument block
  DeathMemory memory;
};

/// What a wave wrote down before it did it.
struct DeathRecord {
  std::string_view kind; ///< "load", "store", …, "block"
  std::string file, function;
  uint32_t line = 0, column = 0;
  std::string called_from;      ///< a function that was inlined: the place in the kernel
  uint32_t bytes = 0;           ///< of each lane
  uint32_t lanes = 0;           ///< that took part
  uint64_t first = 0, last = 0; ///< the lowest and the highest address
  bool has_address = false;
  uint32_t hits = 0; ///< lanes whose access touches the page of the fault
};

struct DeathWave {
  uint32_t number = 0;
  bool is_known = false; ///< the two below
  std::array<uint32_t, 3> workgroup{};
  uint32_t in_group = 0;
  std::vector<DeathRecord> records; ///< the latest last
  uint32_t hits() const;
};

struct DeathDispatch {
  uint64_t id = 0, queue = 0;
  uint32_t agent = 0;
  std::string kernel, module;
  std::array<uint32_t, 3> grid{}, workgroup{};
  bool is_instrumented = false;
  bool adds_up = false;               ///< waves write records of rare accesses only
  std::optional<Residency> residency; ///< if fewer workgroups fit than of the original
  std::vector<DeathArgument> arguments;
  std::vector<DeathWave> waves; ///< the guilty first
  uint64_t unended_waves = 0;   ///< of which records are known, also those that are not listed
};

/// Where the program counter was, if the GPU says so.
struct DeathPlace {
  uint64_t pc = 0;
  std::string function; ///< empty: unknown
  uint64_t offset = 0;  ///< in it
  std::string file;
  uint32_t line = 0, column = 0;
  std::string called_from; ///< as in DeathRecord
};

struct Death {
  enum class Kind { memory_fault, queue_error, gpu_reset, hang } kind = Kind::hang;
  uint64_t address = 0;
  std::vector<std::string> reasons; ///< of a memory fault or a reset
  std::optional<uint64_t> queue;
  std::string error;  ///< of a queue: HSA_STATUS_ERROR_…
  std::string target; ///< the GPU: gfx90a; empty if it is not known
  std::optional<DeathPlace> place;
  std::vector<DeathMemory> memory; ///< the nearest
  std::vector<DeathDispatch> dispatches;
  uint64_t in_flight = 0;       ///< dispatches, also those that are not listed
  bool knows_dispatches = true; ///< all of them
  bool has_memory = true;       ///< the application has allocated something
};

/// "memory fault", "queue error", "GPU reset", "hang".
const char *nameOf(Death::Kind kind);
/// Sentences, each a line.
std::vector<std::string> linesOf(const Death &death);
/// One line; docs/formats.md describes it.
std::string jsonOf(const Death &death);

} // namespace fade
