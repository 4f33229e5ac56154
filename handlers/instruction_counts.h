// What the instructions of a kernel have done, going by how often each was executed.
//
// Counts are those of waves (executions) and of their active lanes. Operations and bytes follow
// from them: an instruction always does the same for a lane.
#pragma once

#include <fade/handler.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fade::handlers {

inline constexpr std::array<const char *, FADE_UNIT_COUNT> kUnitNames = {
    "valu",   "salu",    "smem", "vmem",  "lds",    "matrix",
    "branch", "barrier", "wait", "other", "invalid"};
inline constexpr std::array<const char *, FADE_TYPE_COUNT> kTypeNames = {
    "none", "f64", "f32", "f16", "bf16", "f8", "integer"};

/// Which way bytes went.
enum class Traffic : uint8_t {
  loaded,
  stored,
  atomic,
  scalar_loaded,
  lds_loaded,
  lds_stored,
  lds_atomic,
  scratch,
};
inline constexpr std::array<const char *, 8> kTrafficNames = {
    "loaded",     "stored",     "atomic",     "scalar_loaded",
    "lds_loaded", "lds_stored", "lds_atomic", "scratch"};

/// Of one instruction, a line or a whole kernel.
struct Work {
  uint64_t executions = 0, lanes = 0; ///< of instructions
  std::array<uint64_t, FADE_TYPE_COUNT> operations{};
  uint64_t packed = 0, matrix = 0; ///< of the floating-point operations
  std::array<uint64_t, kTrafficNames.size()> bytes{};

  void add(const Work &other);
  uint64_t flops() const;       ///< without those on integers
  uint64_t memoryBytes() const; ///< of global memory, through whichever path
};

/// One instruction and its counts.
struct CountedInstruction {
  const fade_site_instruction *code = nullptr;
  const fade_site *site = nullptr;
  Work work;
  uint64_t taken = 0, splits = 0;

  bool isBranch() const { return code->taken != FADE_NO_INDEX; }
  bool maySplit() const { return code->split != FADE_NO_INDEX; }
};

/// All instructions that were executed, and those of the kernel's own that were not, by address.
/// `counters` has one for each site.
std::vector<CountedInstruction> countedInstructions(const SiteTable &table,
                                                    std::span<const fade_counter> counters);

} // namespace fade::handlers
