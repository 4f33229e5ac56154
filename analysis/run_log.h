// What a run left behind as JSON lines (docs/formats.md), added up for the report: so far
// that the page stays small, and not so far that a number cannot be checked against the lines.
//
// Lines that cannot be read are named and left out; kinds that are not known are skipped. The same
// access in several dispatches of a kernel is one access here.
#pragma once

#include "analysis/json_fields.h"
#include "base/result.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace fade::report {

/// A number that may be missing, in the space of one: the largest stands for none.
class MaybeNumber {
public:
  constexpr MaybeNumber() = default;
  constexpr MaybeNumber(std::nullopt_t) {}
  constexpr MaybeNumber(uint64_t number) : number_(number) {}
  constexpr MaybeNumber(std::optional<uint64_t> number) : number_(number.value_or(kNone)) {}

  constexpr explicit operator bool() const { return number_ != kNone; }
  constexpr uint64_t operator*() const { return number_; }
  constexpr uint64_t value_or(uint64_t otherwise) const { return *this ? number_ : otherwise; }
  constexpr std::optional<uint64_t> optional() const {
    return *this ? std::optional(number_) : std::nullopt;
  }

private:
  static constexpr uint64_t kNone = UINT64_MAX;
  uint64_t number_ = kNone;
};

/// One of possibly very many: members are ordered and sized to take little memory.
struct Dispatch {
  uint64_t id = 0;
  uint64_t agent = 0, queue = 0;
  MaybeNumber start_ns, end_ns;
  std::array<uint32_t, 3> grid{}, workgroup{};
  uint64_t lds = 0;
  MaybeNumber wave_instructions, lane_instructions; ///< executed, where it is known
  uint64_t records = 0, bytes = 0, dropped = 0;
  uint64_t workgroups = 0, workgroups_recorded = 0; ///< 0: the line does not say it
  /// From the `memory` line, if there was one.
  uint64_t lines_needed = 0, lines_used = 0, conflicts = 0;
  uint32_t kernel = 0;  ///< index in RunLog::kernels
  uint32_t variant = 0; ///< index in RunLog::variants
  bool has_memory = false;
  bool instrumented = false, is_observed = false, complete = true;
  bool in_software = false;          ///< times are those of the machine, not of a card
  bool has_own_instructions = false; ///< of a twin, but those that the kernel itself would execute

  bool hasTimes() const { return start_ns && end_ns && *end_ns >= *start_ns; }
  /// Whether the kernel ran as it was compiled: others take longer and execute more.
  bool ranAsCompiled() const { return !instrumented || is_observed; }
  /// Whether its instructions are the kernel's, not those of its twin.
  bool countsKernel() const { return ranAsCompiled() || has_own_instructions; }
};

/// What ran where: the line of type "run" of a process.
struct Run {
  struct Gpu {
    std::string target, name;
    bool in_software = false;
  };
  std::string fade, runtime, hip, command, date;
  std::vector<std::string> options;
  std::vector<Gpu> gpus;
};

/// An argument of a kernel, in all its dispatches.
struct Argument {
  std::string name, type;
  uint64_t offset = 0, bytes = 0;
  bool is_pointer = false;
  /// What dispatches were given, and how many; the allocation that it points into.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> values;
  uint64_t other_values = 0; ///< dispatches with values beyond those that are kept
};

struct Kernel {
  std::string name;
  std::string symbol, target; ///< empty if no line tells them
  std::string module{};       ///< the same; kernels of one name in two modules are two
  std::vector<Argument> arguments;
  uint32_t line_size = 128, banks = 32;
  /// Executions of accesses by each wave: how many waves, of all of them, and of the busiest one in
  /// each dispatch, summed up.
  uint64_t waves = 0, wave_executions = 0, longest_waves = 0;
  /// What L2 holds, and of each allocation that is accessed its size, bytes from and to memory, and
  /// from the first to the last byte that is accessed (0: not known).
  struct Footprint {
    uint64_t size = 0, fetched = 0, written = 0, extent = 0;
  };
  uint64_t l2_bytes = 0;
  std::vector<Footprint> footprints{};
  /// Of an automatic sample: how many workgroups stand for all, and how far off their sums may be,
  /// as a share: the standard error if workgroups differ as much as they have to do.
  uint64_t workgroups = 0, workgroups_recorded = 0;
  double sample_error = 0;
};

/// What the model of the caches says of an access.
struct CacheTraffic {
  bool is_known = false;
  uint64_t requests = 0, l1_hits = 0, l2_hits = 0;
  uint64_t fetched = 0, unused = 0, written = 0, unwanted = 0; ///< bytes

  uint64_t moved() const { return fetched + written; }
  uint64_t useless() const { return unused + unwanted; }
};

/// What the compiler says a kernel takes, and what that leaves room for.
using SourceLine = std::pair<std::string, uint32_t>; ///< file and number

/// Machine code, all of which the same lanes execute equally often.
struct CodeStretch {
  uint64_t valu = 0;    ///< instructions of the vector ALU
  uint64_t scratch = 0; ///< bytes of scratch memory that a lane loads and stores
  std::set<SourceLine> lines;
  bool in_loop = false;
};

struct KernelCode {
  uint64_t vgprs = 0; ///< AGPRs included where both are of one file
  uint64_t agprs = 0, sgprs = 0, lds = 0, scratch = 0, spilled = 0;
  double waves_per_unit = 0;          ///< at a time, as it was launched
  uint64_t most_waves = 0;            ///< of a SIMD
  std::string limit;                  ///< what keeps it from more waves
  std::vector<CodeStretch> stretches; ///< in their order
};

/// An access in the source, in all dispatches of its kernel.
struct Access {
  uint32_t kernel = 0;
  bool is_lds = false;
  std::string file;
  uint32_t line = 0, column = 0;
  std::string op;
  uint64_t bytes = 0;
  std::string function, via, advice, source;
  uint64_t executions = 0, lanes = 0, slots = 0, total_bytes = 0;
  std::string machine;  ///< how the machine does it, if not as written
  uint64_t hottest = 0; ///< atomics: operations on the busiest address
  CacheTraffic cache;   ///< if there was a model of the caches
  uint64_t needed = 0, used = 0, wasted = 0, conflicts = 0, same_address = 0;
  std::optional<uint64_t> same_turns; ///< of LDS, for atomics on one address
  std::map<int64_t, uint64_t> strides;
  uint64_t other_strides = 0, irregular = 0;
  uint64_t worst_dispatch = 0;
  double worst_waste = -1;

  /// Accesses of the wave that a better order would spare: lines or turns too many, and atomics
  /// that wait for another lane at their address.
  uint64_t waste() const {
    return (is_lds ? conflicts : wasted) + (op == "atomic" ? same_address : 0);
  }
};

/// One execution of an access, lane by lane.
struct Pattern {
  uint32_t kernel = 0;
  bool is_lds = false;
  std::string which, file, op;
  uint32_t line = 0, column = 0;
  uint64_t bytes = 0, lane_bytes = 0, dispatch = 0;
  uint64_t line_size = 128, banks = 32;
  uint64_t needed = 0, used = 0, conflicts = 0;
  std::optional<std::array<uint64_t, 3>> workgroup;
  uint64_t mask = 0;
  std::vector<uint64_t> addresses; ///< of the lanes of the mask
};

struct Block {
  uint64_t id = 0;
  std::string function, file;
  uint32_t line = 0;
  std::vector<std::pair<std::string, uint32_t>> lines; ///< file and line
  bool is_own = false;                                 ///< `flow` says that the kernel holds it
  uint64_t executions = 0, lanes = 0;
  std::optional<uint64_t> divergent, splits, clocks; ///< only where records exist
  std::optional<uint64_t> p50, p90, p99;             ///< clocks of an execution
};

struct Edge {
  std::optional<uint64_t> from; ///< nothing: the kernel's entry
  uint64_t to = 0, executions = 0, lanes = 0;
};

struct Flow {
  uint64_t wave_size = 64;
  std::map<uint64_t, Block> blocks;
  std::vector<Edge> edges;
};

/// How often a line of source ran.
struct LineCount {
  uint64_t executions = 0, lanes = 0, slots = 0; ///< slots: lanes there would be room for
  uint64_t instructions = 0;                     ///< executed for it; 0: nobody counted
};

struct InstructionCount {
  std::string text, file;
  uint32_t line = 0, column = 0;
  uint64_t executions = 0, lanes = 0, flops = 0, bytes = 0;
  std::optional<uint64_t> taken, splits;

  /// Whether it is this instruction that was counted. Disassemblers differ in operands.
  bool isOf(std::string_view other) const {
    return std::string_view(text).substr(0, text.find(' ')) == other.substr(0, other.find(' '));
  }
};

/// Waves on a compute unit.
struct UnitWaves {
  uint64_t xcc = 0, engine = 0, array = 0, unit = 0, waves = 0;
};

/// What Hotspots counted of a kernel, or what follows from the counts of its blocks.
struct KernelCounts {
  bool by_blocks = false;
  std::string doubt; ///< why the counts may be wrong; empty: they are exact
  uint64_t wave_size = 64, dispatches = 0, executions = 0;
  std::map<uint64_t, InstructionCount> instructions;        ///< by address in the code object
  std::map<std::string, std::pair<uint64_t, uint64_t>> mix; ///< by unit: executions, lanes
  std::map<std::string, uint64_t> flops, bytes;             ///< by type; by direction
  uint64_t valu = 0, valu_lanes = 0; ///< of the vector ALU: executions, and lanes in them
  uint64_t scratch_bytes = 0;
};

/// A kernel that ran as it is though instrumentation was asked for.
struct Skipped {
  std::string kernel, reason;
  uint64_t count = 1;
};

struct RunLog {
  std::vector<Run> runs;             ///< of each process
  std::deque<Dispatch> dispatches;   ///< grows without a copy of all of them
  std::vector<std::string> variants; ///< of dispatches
  std::vector<Kernel> kernels;
  std::vector<Access> accesses;
  std::map<uint32_t, Flow> flows; ///< by kernel
  std::map<std::pair<std::string, uint32_t>, LineCount> lines;
  std::map<std::pair<std::string, uint32_t>, LineCount> counted_lines; ///< by Hotspots
  std::map<uint32_t, KernelCounts> counts;                             ///< by kernel
  std::map<uint32_t, std::vector<UnitWaves>> placements;               ///< by kernel
  std::map<uint32_t, KernelCode> code; ///< by kernel, once code objects were read
  std::vector<Pattern> patterns;
  std::vector<Json> tables;          ///< of handlers, as they are written
  std::vector<std::string> texts;    ///< lines of handlers
  std::vector<Json> deaths;          ///< what killed the run, as it is written
  std::vector<std::string> heatmaps; ///< lines of this kind, to be read again in order of time
  bool has_summary = false;          ///< if not, the run was cut off
  std::vector<Skipped> skipped;
  std::vector<std::string> notes; ///< what the numbers stand for
  bool is_sampled = false;  ///< automatically: numbers of kernels were scaled (analysis/sampled.h)
  std::string hint;         ///< why there is nothing to see
  bool was_checked = false; ///< by fadeprobe check
  uint64_t checked_dispatches = 0;   ///< 0: not known
  std::vector<Json> errors;          ///< its findings, as they are written
  std::vector<std::string> problems; ///< one line each
  uint64_t line_count = 0, bad_lines = 0;

  /// `target`: empty unless there are several. `module`: empty if it is not known, then the first
  /// kernel of that name is meant.
  uint32_t kernelIndex(const std::string &name, const std::string &target,
                       const std::string &module);
  /// Whether a software GPU ran it, or a part of it: its times say nothing about a card.
  bool inSoftware() const;

private:
  struct OfName {
    uint32_t first = 0;
    std::map<std::string, uint32_t> by_module{};
  };
  std::map<std::pair<std::string, std::string>, OfName> kernel_by_name_; ///< and target
};

/// Whether another module has a kernel of this name for the same processor.
bool hasNamesake(const RunLog &log, const Kernel &kernel);

/// An error if the file cannot be read or holds no report.
Result<RunLog> readRunLog(const std::string &path);
/// Adds what killed the run, from the lines of FADE_DEATHS beginning at an offset.
void readDeaths(const std::string &path, uint64_t offset, RunLog &log);

} // namespace fade::report
