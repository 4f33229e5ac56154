// What a capture is: one dispatch of a kernel, with the code, the arguments and the memory that it
// found, and the memory that it left behind. docs/formats.md describes the folder.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fade::capture {

inline constexpr uint32_t kVersion = 1;
inline constexpr uint64_t kPageSize = 4096;
inline constexpr uint64_t kPagesPerBlock = 16; ///< pages that are compressed together

/// A folder that is still being written has this behind its name.
inline constexpr std::string_view kPartial = ".partial";
inline constexpr const char *kManifestFile = "manifest.jsonl";
inline constexpr const char *kIndexFile = "pages.idx";
inline constexpr const char *kPagesFile = "pages.zst";

/// How the application came by a piece of memory.
enum class RegionKind {
  pool,    ///< allocated from a pool or region of the runtime
  locked,  ///< the application's own, made visible to the GPU
  managed, ///< shared virtual memory
  mapped,  ///< virtual memory management: a range of addresses and a handle
  code,    ///< a loaded code object, with its variables
};
inline constexpr std::array<std::string_view, 5> kRegionKinds = {"pool", "locked", "managed",
                                                                 "mapped", "code"};

/// Memory that the GPU sees: whole pages.
struct Region {
  uint64_t address = 0;
  uint64_t size = 0;
  RegionKind kind = RegionKind::pool;
  bool on_host = false;
  uint32_t agent = 0; ///< that owns it
  uint32_t flags = 0; ///< of the pool, as HSA has them
  uint64_t used = 0;  ///< bytes from its start that were asked for; the rest fills up the last page

  uint64_t end() const { return address + size; }
  uint64_t pages() const { return size / kPageSize; }
  bool contains(uint64_t at, uint64_t bytes) const {
    return at >= address && bytes <= size && at - address <= size - bytes;
  }
};

struct Code {
  std::vector<uint8_t> bytes;
  uint64_t base = 0; ///< where its address 0 was loaded to
};

/// All but the contents of memory.
struct Description {
  std::string fade;      ///< version of FADE that made it
  std::string runtime;   ///< of the HSA runtime
  std::string gpu;       ///< gfx90a
  std::string isa;       ///< amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
  std::string kernel;    ///< demangled
  std::string symbol;    ///< without ".kd"
  std::string module;    ///< codeobj::moduleIdOf the code it was loaded from; empty: not known
  uint64_t dispatch = 1; ///< which one of this kernel, from 1

  std::array<uint32_t, 3> grid{1, 1, 1}, workgroup{1, 1, 1}; ///< work-items
  uint16_t dimensions = 1;
  uint32_t private_segment = 0, group_segment = 0;
  uint64_t kernel_object = 0, kernarg_address = 0, queue_address = 0;
  std::vector<uint8_t> arguments; ///< the block at kernarg_address

  bool is_cooperative = false; ///< its workgroups may wait for each other
  bool has_after = true;
  bool is_minimised = false;      ///< pages that the kernel does not touch are left out
  bool only_reachable = false;    ///< so is memory that no pointer leads to
  uint32_t other_queues_busy = 0; ///< that did not come to rest: memory may be theirs
  uint64_t duration_ns = 0;       ///< of the captured dispatch; 0: not known

  std::vector<Region> regions; ///< by address, disjoint
};

enum class State { before, after };

/// What a number of neighboring pages hold.
struct Run {
  enum Kind : uint32_t {
    kZero = 0,   ///< nothing but zeros
    kSame = 1,   ///< what they held before (only in the state after)
    kStored = 2, ///< stored pages, one after the other from `first` on
    kEqual = 3,  ///< the stored page `first`, each of them
    kAbsent = 4, ///< not known: left out when the capture was minimised
  };
  uint32_t kind = kZero;
  uint32_t count = 0; ///< pages
  uint32_t first = 0; ///< number of a stored page
};
static_assert(sizeof(Run) == 12);

/// The memory of a state: for each region, runs that together have all of its pages.
using Layout = std::vector<std::vector<Run>>;

/// How large things are.
struct Sizes {
  uint64_t memory = 0;  ///< bytes of all regions
  uint64_t stored = 0;  ///< pages that are neither zero nor equal to others
  uint64_t changed = 0; ///< pages that the state after has other contents for
  uint64_t on_disk = 0; ///< bytes of the folder's files
};

} // namespace fade::capture
