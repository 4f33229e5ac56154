// What is known of a kernel: how often each of its instructions ran, what that did, and what the
// caches would make of it. All numbers are sums over its dispatches.
#pragma once

#include "analysis/run_log.h"
#include "codeobj/instruction.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade::profile {

/// Floating-point operations, by the type of their factors.
struct Flops {
  uint64_t f64 = 0, f32 = 0, f16 = 0, bf16 = 0, f8 = 0;
  uint64_t packed = 0; ///< of those, by instructions that work on several values in a register
  uint64_t matrix = 0; ///< of those, by matrix instructions
  uint64_t matrix_integer = 0; ///< not among them

  uint64_t all() const { return f64 + f32 + f16 + bf16 + f8; }
};

/// Bytes that go through a level of memory.
struct LevelBytes {
  uint64_t accessed = 0; ///< by lanes, of global memory
  uint64_t scalar = 0;   ///< loaded by scalar loads, once for a wave
  uint64_t lds = 0;      ///< by lanes
  uint64_t l1 = 0;       ///< lines that vector instructions want of L1
  uint64_t l2 = 0;       ///< of those and of scalar loads', what the caches before L2 do not have
  uint64_t dram = 0;     ///< fetched into L2, and written back
};

struct ProfiledInstruction {
  uint64_t address = 0; ///< in the code object
  std::string text;
  codeobj::InstructionInfo info;
  std::string file;
  uint32_t line = 0, column = 0;
  uint64_t executions = 0, lanes = 0, flops = 0, bytes = 0;
  double l1_hits = 0, l2_hits = 0; ///< shares of executions that wait for no more, by the model
  double extra_turns = 0;          ///< LDS: of an execution, for conflicts and shared addresses
};

struct KernelRegisters {
  uint32_t vgprs = 0, agprs = 0, sgprs = 0;
  uint32_t spilled_vgprs = 0, spilled_sgprs = 0;
};

/// Waves there are from a moment on.
struct WavesAt {
  double time = 0; ///< ns of the model, or cycles of a trace
  int64_t waves = 0;
};

/// What a thread trace knows of the SIMDs that it looked at, in cycles.
struct TraceTotals {
  double simd_cycles = 0; ///< from the first wave to the last, of all SIMDs; 0: not known
  double wave_cycles = 0; ///< in which waves were there, of all waves
  double valu_cycles = 0, matrix_cycles = 0, scalar_cycles = 0; ///< in which it began instructions

  double wavesPerSimd() const { return simd_cycles > 0 ? wave_cycles / simd_cycles : 0; }
};

struct KernelProfile {
  std::string name, symbol, target, module;
  bool is_counted = false;              ///< else nothing is known but how long it took
  bool by_blocks = false;               ///< it counted its own blocks; nobody watched
  bool is_estimated = false;            ///< its instructions are made up from its accesses
  std::string doubt;                    ///< why the counts may be wrong; empty: they are exact
  bool has_levels = false;              ///< a model of the caches saw its accesses
  bool is_traced = false;               ///< times of instructions were measured by a thread trace
  std::vector<WavesAt> waves_over_time; ///< of a trace
  std::optional<TraceTotals> trace;     ///< if it is traced
  uint32_t wave_size = 64;
  uint64_t dispatches = 0, workgroups = 0, waves = 0;
  uint64_t items = 0;           ///< lanes that it was launched with
  uint32_t workgroup_items = 0; ///< the largest
  uint64_t lds_bytes = 0;       ///< of a workgroup, the most
  std::optional<KernelRegisters> registers;
  std::vector<ProfiledInstruction> instructions; ///< by address
  std::vector<report::Access> accesses;          ///< of the source, from which the rest follows
  uint32_t line_size = 128;                      ///< bytes, in which their lines are counted
  Flops flops;
  LevelBytes bytes;
  uint64_t unused_bytes = 0;                 ///< of memory, moved for nothing
  uint64_t l1_requests = 0;                  ///< lines of L1 that instructions want
  uint64_t lines_used = 0, lines_needed = 0; ///< if lanes were neighbors
  double l2_lines = 0; ///< that L2 is asked for: those that L1 does not have or lets through
  uint64_t scratch_bytes = 0, lane_scratch = 0; ///< moved by all lanes; that each of them has
  double longest_wave = 1;                      ///< what the busiest wave does, in average ones
  double by_one_lane = 0; ///< share of what the vector ALU executes with one lane
  uint64_t lds_turns = 0, lds_conflicts = 0; ///< the latter among the former
  uint64_t lds_same_address = 0; ///< of those, the ones of atomic operations on one address
  uint64_t hottest = 0;          ///< atomic operations on the busiest address of each dispatch
  /// Of one dispatch, where a GPU has measured it without instrumentation.
  std::optional<double> measured_ns;
  uint64_t measured_dispatches = 0;

  uint64_t executions() const;
  /// Of the lanes that the vector units have time for, those that took part.
  double laneShare() const;
  /// Of the lanes of its waves, those that it was launched with.
  double presentShare() const;
  double perDispatch(uint64_t amount) const {
    return static_cast<double>(amount) / static_cast<double>(dispatches == 0 ? 1 : dispatches);
  }
};

} // namespace fade::profile
