#include "rewrite/counting.h"

#include "rewrite/block_times.h"
#include "rewrite/control_flow.h"
#include "rewrite/copied_code.h"
#include "rewrite/pointer_calls.h"

#include "fade/message.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <span>

namespace fade::rewrite {
namespace {

/// s0 to s7 hold nothing any more when a wave ends; counters are elsewhere.
constexpr unsigned kScratchRegisters = 8;
constexpr unsigned kEndRegisters = 4; ///< vector ones that are used when a wave ends
/// Of the code, bytes: branches reach 128 KiB.
constexpr std::size_t kIslandEvery = 96 << 10;
/// Blocks whose clocks get registers before counters do.
constexpr std::size_t kFirstClocks = 16;

// Kinds of counters, by what is known of their place.
enum class Kind : uint8_t {
  once,    ///< executed once at most: a register has its lanes
  each,    ///< two registers: executions and lanes
  uniform, ///< in a loop, with the lanes that the wave began with: a register has its executions
  // Those for which there is no scalar register, in lanes of vector registers.
  each_in_lane,
  uniform_in_lane,
};
constexpr bool isInLane(Kind kind) {
  return kind == Kind::each_in_lane || kind == Kind::uniform_in_lane;
}
constexpr bool isUniform(Kind kind) {
  return kind == Kind::uniform || kind == Kind::uniform_in_lane;
}

struct Counter {
  uint64_t place = 0;
  Kind kind = Kind::each;
  bool has_all_lanes = false;         ///< those that the wave began with
  unsigned executions = 0, lanes = 0; ///< registers, scalar or vector
  unsigned lane = 0;                  ///< of vector ones
};

std::string pairOf(unsigned first) { return fmt::format("s[{}:{}]", first, first + 1); }

class Writer {
public:
  Writer(const CountingRequest &request, Assembler &assembler, Islands &islands)
      : in_(request), target_(request.object.target()),
        is_wave32_(request.kernel.descriptor.wavefront_size == 32),
        launch_(request.object, request.kernel), times_(Dialect(target_, is_wave32_)),
        copy_(request.object, request.program, request.address, assembler, islands) {}

  Result<CountingCode> write() {
    if (auto status = launch_.check(); !status) return std::move(status).error();
    chooseCounters();
    if (auto status = chooseRegisters(); !status) return std::move(status).error();
    numberCounters();
    if (first_vector_ + out_.vector_registers > kVectorRegisters)
      return Error::of("it leaves neither scalar nor vector registers free");
    if (out_.vector_registers != 0 && !launch_.fits(first_vector_ + out_.vector_registers))
      return Error::of("with more vector registers its workgroups would not fit");
    if (auto status = checkClauses(); !status) return std::move(status).error();
    const auto uses_vectors = [&](uint64_t address) {
      const auto at = by_place_.find(address);
      return at != by_place_.end() && isInLane(counters_[at->second].kind);
    };
    if (auto status = in_.program.checkIndexing(uses_vectors); !status)
      return std::move(status).error();
    writeEntry();
    for (const auto &[address, i] : in_.program.instructions)
      if (i.flow == Flow::end) last_end_ = address;
    for (const auto &[address, i] : in_.program.instructions) writeInstruction(i);
    copy_.pad();
    auto code = copy_.finish();
    if (!code) return std::move(code).error();
    out_.code = *std::move(code);
    out_.descriptor = launch_.descriptor(
        {.scalars = highest_ + 1,
         .vectors = out_.vector_registers != 0 ? first_vector_ + out_.vector_registers : 0});
    return std::move(out_);
  }

private:
  // Deciding.

  void chooseCounters() {
    const ControlFlow flow(in_.program);
    live_scc_ = in_.program.sccLiveness();
    const uint64_t entry = in_.program.entries.front();
    for (const uint64_t place : in_.places) {
      if (!in_.program.instructions.contains(place)) continue;
      blocks_[place] = {place, flow.isInLoop(place)};
      if (place == entry && in_.program.entries.size() == 1 && !flow.isJumpedTo(entry)) {
        counts_entry_ = true;
        continue;
      }
      Counter counter{place};
      counter.has_all_lanes = flow.hasAllLanes(place);
      counter.kind = !flow.isInLoop(place)   ? Kind::once
                     : counter.has_all_lanes ? Kind::uniform
                                             : Kind::each;
      counters_.push_back(counter);
    }
    shareEntry(flow);
  }
  /// Places that all waves run once, with all their lanes, need no counters of their own.
  void shareEntry(const ControlFlow &flow) {
    constexpr std::size_t most_tried = 64;
    if (!counts_entry_ || callsPointers()) return;
    std::size_t tried = 0;
    std::erase_if(counters_, [&](const Counter &c) {
      const bool is_shared = c.kind == Kind::once && c.has_all_lanes && tried++ < most_tried &&
                             flow.isOnAllPaths(c.place);
      if (is_shared) as_entry_.push_back(c.place);
      return is_shared;
    });
  }

  bool needsScc(const Counter &c) const {
    if ((c.kind == Kind::once && c.has_all_lanes) || c.kind == Kind::uniform_in_lane) return false;
    const auto at = live_scc_.find(c.place);
    return at == live_scc_.end() || at->second;
  }

  /// Takes two that are side by side and aligned out of those from `first` on.
  static std::optional<unsigned> pairFrom(std::vector<unsigned> &free, std::size_t first) {
    for (std::size_t i = first; i + 1 < free.size(); ++i)
      if (free[i] % 2 == 0 && free[i + 1] == free[i] + 1) {
        const unsigned found = free[i];
        const auto at = free.begin() + static_cast<std::ptrdiff_t>(i);
        free.erase(at, at + 2);
        return found;
      }
    return std::nullopt;
  }

  bool callsPointers() const { return !in_.program.pointer_calls.empty(); }
  unsigned waveSize() const { return is_wave32_ ? 32 : 64; }

  Status chooseRegisters() {
    first_vector_ = std::max(launch_.firstVector(in_.program), kEndRegisters);
    if (counters_.empty() && !in_.has_times) return Done{};
    const std::bitset<128> used = in_.program.used();
    const unsigned limit = launch_.scalarLimit();
    std::vector<unsigned> free;
    // Where registers are moved when the copy begins, none of them is taken.
    const unsigned first =
        std::max(kScratchRegisters,
                 launch_.addsPointer() ? launch_.registersAtStart() + 2 : kScratchRegisters);
    for (unsigned r = first; r < limit; ++r)
      if (!used.test(r) && (!callsPointers() || isKeptByFunctions(r))) free.push_back(r);
    std::size_t taken = 0;
    const auto take = [&]() -> unsigned {
      const std::size_t at = taken++;
      return at < free.size() ? free[at] : 0;
    };
    // The arguments' address stays where it is if nobody writes there.
    arguments_ = launch_.kernargRegister();
    const bool is_written =
        launch_.addsPointer() || std::ranges::any_of(in_.program.instructions, [&](const auto &i) {
          return i.second.writes.test(arguments_) || i.second.writes.test(arguments_ + 1);
        });
    if (is_written) {
      const auto pair = pairFrom(free, 0);
      if (!pair) return Error::of("it leaves no pair of scalar registers free");
      saves_arguments_ = true;
      arguments_ = *pair;
    } else {
      std::erase_if(free, [&](unsigned r) { return r == arguments_ || r == arguments_ + 1; });
    }
    if (in_.has_times ||
        std::ranges::any_of(counters_, [&](const Counter &c) { return needsScc(c); }))
      saved_scc_ = take();
    if (callsPointers()) left_ = take();
    temporary_ = take();
    all_lanes_ = take();
    // If there are not enough for all: counters of loops come first.
    const auto needed = [](const Counter &c) { return c.kind == Kind::each ? 2u : 1u; };
    std::size_t all = 0;
    for (const Counter &c : counters_) all += needed(c);
    // Clocks can be in no other place: some of them come first, in up to half of the room.
    constexpr std::size_t for_lanes = 3;
    const std::size_t room = free.size() - std::min(free.size(), taken + for_lanes);
    const std::size_t for_clocks =
        in_.has_times ? 2 * std::min({blocks_.size(), kFirstClocks, room / 4}) : 0;
    if (taken + all + for_clocks > free.size()) {
      std::ranges::sort(counters_, {},
                        [](const Counter &c) { return std::pair(c.kind == Kind::once, c.place); });
      in_lanes_ = pairFrom(free, std::min(++taken, free.size()));
      if (!in_lanes_) return Error::of("it leaves too few scalar registers free");
      execution_ = free[taken - 1];
    }
    for (Counter &c : counters_) {
      if (taken + needed(c) + for_clocks > free.size()) {
        c.kind = c.has_all_lanes ? Kind::uniform_in_lane : Kind::each_in_lane;
        continue;
      }
      if (c.kind != Kind::once) c.executions = take();
      if (c.kind != Kind::uniform) c.lanes = take();
    }
    out_.registers =
        static_cast<unsigned>(taken + (saves_arguments_ ? 2 : 0) + (in_lanes_ ? 2 : 0));
    highest_ = std::max(saves_arguments_ ? arguments_ + 1 : 0, in_lanes_ ? *in_lanes_ + 1 : 0);
    for (std::size_t i = 0; i < taken; ++i) highest_ = std::max(highest_, free[i]);
    if (in_.has_times) chooseTimes(free, taken);
    return Done{};
  }
  /// Out of the registers that counters have left.
  void chooseTimes(std::vector<unsigned> &free, std::size_t first) {
    std::vector<BlockTimes::Block> blocks;
    for (const auto &[place, block] : blocks_) blocks.push_back(block);
    times_.choose(std::move(blocks), [&] {
      const auto pair = pairFrom(free, std::min(first, free.size()));
      if (pair) {
        highest_ = std::max(highest_, *pair + 1);
        out_.registers += 2;
      }
      return pair;
    });
  }

  /// Nothing can be inserted into a clause of memory instructions.
  Status checkClauses() const {
    for (const auto &[address, i] : in_.program.instructions) {
      if (i.mnemonic != "s_clause") continue;
      uint64_t at = i.next();
      for (unsigned n = 0; n <= (i.word & 63); ++n) {
        if (by_place_.contains(at) || (in_.has_times && blocks_.contains(at)))
          return Error::of(fmt::format("a block begins in a clause at {:#x}", at));
        const auto next = in_.program.instructions.find(at);
        if (next == in_.program.instructions.end()) break;
        at = next->second.next();
      }
    }
    return Done{};
  }

  /// Those of a kind are side by side.
  void numberCounters() {
    std::ranges::sort(counters_, {}, [](const Counter &c) { return std::pair(c.kind, c.place); });
    std::map<Kind, unsigned> taken;
    unsigned executions = 0, lanes = 0;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      Counter &c = counters_[i];
      by_place_[c.place] = i;
      out_.counters[c.place] = static_cast<uint32_t>(i);
      if (!isInLane(c.kind)) continue;
      const unsigned n = taken[c.kind]++;
      if (n % waveSize() == 0) {
        executions = first_vector_ + out_.vector_registers++;
        if (c.kind == Kind::each_in_lane) lanes = first_vector_ + out_.vector_registers++;
      }
      c.lane = n % waveSize();
      c.executions = executions, c.lanes = lanes;
    }
    out_.counter_count = static_cast<uint32_t>(counters_.size());
    if (counts_entry_) {
      out_.of_entry = out_.counter_count++;
      out_.counters[in_.program.entries.front()] = *out_.of_entry;
      for (const uint64_t place : as_entry_) out_.counters[place] = *out_.of_entry;
    }
    constexpr std::size_t most = 8; // beyond that, one of them is seldom whole
    out_.counts_missing =
        !counters_.empty() && times_.empty() && counters_.size() <= most && !callsPointers() &&
        std::ranges::all_of(counters_, [](const Counter &c) { return c.kind == Kind::once; });
    for (const auto &[place, sum] : times_.sums()) out_.times[place] = out_.counter_count++;
  }

  // Writing.

  std::string lanesOf(unsigned to) const {
    return is_wave32_ ? fmt::format("s_bcnt1_i32_b32 s{}, exec_lo", to)
                      : fmt::format("s_bcnt1_i32_b64 s{}, exec", to);
  }
  std::string execTo(const std::string &value) const {
    return is_wave32_ ? "s_mov_b32 exec_lo, " + value : "s_mov_b64 exec, " + value;
  }

  std::string saveExec() const {
    return is_wave32_ ? fmt::format("s_mov_b32 s{}, exec_lo", *in_lanes_)
                      : fmt::format("s_mov_b64 {}, exec", pairOf(*in_lanes_));
  }
  std::string restoreExec() const {
    return execTo(is_wave32_ ? fmt::format("s{}", *in_lanes_) : pairOf(*in_lanes_));
  }

  std::vector<std::string> beginning() const {
    std::vector<std::string> lines;
    if (saves_arguments_)
      lines.push_back(
          fmt::format("s_mov_b64 {}, {}", pairOf(arguments_), pairOf(launch_.kernargRegister())));
    if (launch_.addsPointer())
      for (unsigned to = launch_.kernargRegister(), end = launch_.registersAtStart(); to < end;
           to += 2)
        lines.push_back(to + 1 < end ? fmt::format("s_mov_b64 {}, {}", pairOf(to), pairOf(to + 2))
                                     : fmt::format("s_mov_b32 s{}, s{}", to, to + 2));
    if (out_.counts_missing || std::ranges::any_of(counters_, [](const Counter &c) {
          return isUniform(c.kind) || c.has_all_lanes;
        }))
      lines.push_back(lanesOf(*all_lanes_));
    if (out_.vector_registers != 0) {
      lines.insert(lines.end(), {saveExec(), execTo("-1")});
      for (unsigned i = 0; i < out_.vector_registers; ++i)
        lines.push_back(fmt::format("v_mov_b32_e32 v{}, 0", first_vector_ + i));
      lines.push_back(restoreExec());
    }
    std::set<unsigned> values;
    if (left_) values.insert(*left_);
    for (const Counter &c : counters_) {
      if (isInLane(c.kind)) continue;
      if (c.kind != Kind::once) values.insert(c.executions);
      if (c.kind != Kind::uniform) values.insert(c.lanes);
    }
    for (const auto &[place, sum] : times_.sums()) values.insert({sum, sum + 1});
    for (auto at = values.begin(); at != values.end(); ++at) {
      const bool is_pair = *at % 2 == 0 && values.contains(*at + 1);
      lines.push_back(is_pair ? fmt::format("s_mov_b64 {}, 0", pairOf(*at))
                              : fmt::format("s_mov_b32 s{}, 0", *at));
      if (is_pair) ++at;
    }
    return lines;
  }

  void writeEntry() {
    const std::vector<std::string> lines = beginning();
    if (in_.program.entries.size() == 1) {
      copy_.put(lines);
      const uint64_t entry = in_.program.entries.front();
      if (in_.program.instructions.begin()->first != entry) copy_.jumpToCopy("s_branch", entry);
      return;
    }
    // Hardware that preloads arguments starts behind the entry.
    const CopiedCode::Label first = copy_.label();
    copy_.jump("s_branch", first);
    while (copy_.size() < kPreloadedEntry) copy_.put({"s_nop 0"});
    copy_.put(lines);
    copy_.jumpToCopy("s_branch", in_.program.entries.back());
    copy_.place(first);
    copy_.put(lines);
    copy_.jumpToCopy("s_branch", in_.program.entries.front());
  }

  /// gfx12: what the scalar unit writes must not be read at once where vector instructions have
  /// read the register before.
  void waitForScalars(std::vector<std::string> &lines) const {
    if (target_.version.major == 12) lines.push_back("s_wait_alu 0xfffe");
  }

  /// Counts in a lane of a vector register, without VCC.
  void countInLane(const Counter &c, std::vector<std::string> &lines) const {
    const char *add = target_.version.major == 9 ? "v_add_u32_e32" : "v_add_nc_u32_e32";
    const bool has_lanes = c.kind == Kind::each_in_lane;
    lines.push_back(saveExec());
    if (has_lanes)
      lines.insert(lines.end(),
                   {lanesOf(*temporary_), fmt::format("s_cselect_b32 s{}, 1, 0", execution_)});
    if (has_lanes) waitForScalars(lines);
    lines.push_back(is_wave32_ ? fmt::format("s_bfm_b32 exec_lo, 1, {}", c.lane)
                               : fmt::format("s_bfm_b64 exec, 1, {}", c.lane));
    lines.push_back(has_lanes ? fmt::format("{0} v{1}, s{2}, v{1}", add, c.executions, execution_)
                              : fmt::format("{0} v{1}, 1, v{1}", add, c.executions));
    if (has_lanes) lines.push_back(fmt::format("{0} v{1}, s{2}, v{1}", add, c.lanes, *temporary_));
    lines.push_back(restoreExec());
    // Results under another EXEC must not meet on their way to an instruction that reads both.
    if (target_.version.major >= 11)
      lines.push_back(target_.version.major == 11 ? "s_waitcnt_depctr 0xfff" : "s_wait_alu 0xfff");
  }

  /// As the observer counts: an execution without lanes is none. s_bcnt1 says in SCC whether there
  /// are any.
  std::vector<std::string> countingLines(const Counter &c) const {
    if (c.kind == Kind::once && c.has_all_lanes)
      return {fmt::format("s_mov_b32 s{}, s{}", c.lanes, *all_lanes_)};
    std::vector<std::string> lines;
    if (needsScc(c)) lines.push_back(fmt::format("s_cselect_b32 s{}, 1, 0", *saved_scc_));
    switch (c.kind) {
    case Kind::once: lines.push_back(lanesOf(c.lanes)); break;
    case Kind::each:
      lines.insert(lines.end(),
                   {lanesOf(*temporary_), fmt::format("s_addc_u32 s{0}, s{0}, 0", c.executions),
                    fmt::format("s_add_u32 s{0}, s{0}, s{1}", c.lanes, *temporary_)});
      break;
    case Kind::uniform:
      lines.push_back(fmt::format("s_add_u32 s{0}, s{0}, 1", c.executions));
      break;
    default: countInLane(c, lines);
    }
    if (needsScc(c)) lines.push_back(fmt::format("s_cmp_lg_u32 s{}, 0", *saved_scc_));
    return lines;
  }

  /// Where a block ends that has a clock, before an instruction.
  void stopClock(const Instruction &i) {
    if (!timed_) return;
    const auto at = live_scc_.find(i.address);
    const bool is_live = at == live_scc_.end() || at->second;
    if (is_live) copy_.put({fmt::format("s_cselect_b32 s{}, 1, 0", *saved_scc_)});
    copy_.put(times_.stop(*timed_));
    if (is_live) copy_.put({fmt::format("s_cmp_lg_u32 s{}, 0", *saved_scc_)});
  }
  /// And where one begins. Blocks go on behind calls.
  void startClock(const Instruction &i) {
    if (const auto at = times_.sums().find(i.address); at != times_.sums().end())
      timed_ = at->second;
    if (timed_ && (blocks_.contains(i.address) || is_behind_call_)) copy_.put(times_.start());
  }

  void writeInstruction(const Instruction &i) {
    const bool is_block = blocks_.contains(i.address);
    if (is_block) {
      if (!is_behind_call_) stopClock(i); // on the way from the one before
      timed_.reset();
    }
    if (by_place_.contains(i.address) && copy_.size() - last_island_ > kIslandEvery) {
      const CopiedCode::Label over = copy_.label();
      copy_.jump("s_branch", over);
      copy_.putIsland();
      copy_.place(over);
      last_island_ = copy_.size();
    }
    copyInstruction(i);
    is_behind_call_ = i.flow == Flow::call;
    if (i.flow != Flow::next && i.flow != Flow::call) timed_.reset();
  }

  void copyInstruction(const Instruction &i) {
    copy_.beginAt(i);
    if (const auto at = by_place_.find(i.address); at != by_place_.end())
      copy_.put(countingLines(counters_[at->second]));
    startClock(i);
    if (i.flow != Flow::next) stopClock(i);
    has_matrix_ |= i.is_matrix;
    if (i.ends_registers || i.flow == Flow::end) {
      copy_.leaveOut(i); // registers are needed until the counters are written
      if (i.flow != Flow::end) return;
      if (i.address == last_end_)
        writeEnd();
      else
        copy_.jump("s_branch", end_);
      return;
    }
    if (!in_.program.pointer_calls.contains(i.address)) return copy_.copy(i);
    putPointerCall(copy_, Dialect(target_, is_wave32_), in_.program, i, [&] {
      if (!left_) return;
      std::vector<std::string> lines{fmt::format("s_add_u32 s{0}, s{0}, 1", *left_)};
      waitForScalars(lines);
      copy_.put(lines);
    });
  }

  /// Counters that are added to memory together, one by each lane.
  using Batch = std::span<const Counter>;

  /// Kinds with scalar registers come first, all together; of lanes, those of one register.
  std::vector<Batch> batches() const {
    std::vector<Batch> all;
    const std::size_t wave = waveSize();
    for (std::size_t first = 0, count = 0; first < counters_.size(); first += count) {
      const auto is_other = [&](const Counter &c) {
        return isInLane(c.kind) &&
               (!isInLane(counters_[first].kind) || c.executions != counters_[first].executions);
      };
      const Batch rest = Batch(counters_).subspan(first, std::min(wave, counters_.size() - first));
      count = static_cast<std::size_t>(std::ranges::find_if(rest, is_other) - rest.begin());
      all.push_back(rest.first(count));
    }
    return all;
  }

  std::string lanesFrom(std::size_t first, std::size_t count) const {
    if (count == waveSize()) return execTo("-1");
    return is_wave32_ ? fmt::format("s_bfm_b32 exec_lo, {}, {}", count, first)
                      : fmt::format("s_bfm_b64 exec, {}, {}", count, first);
  }

  /// Executions to v1, lanes to v[2:3].
  void gather(Batch batch, std::vector<std::string> &lines) const {
    if (isInLane(batch[0].kind)) {
      lines.push_back(fmt::format("v_mov_b32_e32 v1, v{}", batch[0].executions));
      if (batch[0].kind == Kind::each_in_lane)
        lines.push_back(fmt::format("v_mov_b32_e32 v2, v{}", batch[0].lanes));
    }
    for (std::size_t n = 0; n < batch.size(); ++n)
      if (!isInLane(batch[n].kind) && !isUniform(batch[n].kind))
        lines.push_back(fmt::format("v_writelane_b32 v2, s{}, {}", batch[n].lanes, n));
    if (std::ranges::any_of(batch, [](const Counter &c) { return c.kind == Kind::once; }))
      lines.push_back("v_min_u32_e32 v1, 1, v2");
    for (std::size_t n = 0; n < batch.size(); ++n)
      if (!isInLane(batch[n].kind) && batch[n].kind != Kind::once)
        lines.push_back(fmt::format("v_writelane_b32 v1, s{}, {}", batch[n].executions, n));
    const char *subtract =
        target_.version.major == 9 ? "v_subrev_u32_e32" : "v_subrev_nc_u32_e32"; // second - first
    if (out_.counts_missing)
      lines.insert(lines.end(),
                   {"v_xor_b32_e32 v1, 1, v1", fmt::format("v_mov_b32_e32 v3, s{}", *all_lanes_),
                    fmt::format("{} v2, v2, v3", subtract)});
    lines.push_back("v_mov_b32_e32 v3, 0");
  }

  /// Adds counters to memory.
  void addToMemory(Batch batch, std::vector<std::string> &lines) const {
    const char *atomic =
        target_.version.major >= 11 ? "global_atomic_add_u64" : "global_atomic_add_x2";
    gather(batch, lines);
    const auto uniform =
        std::ranges::find_if(batch, [](const Counter &c) { return isUniform(c.kind); });
    const auto first = static_cast<std::size_t>(uniform - batch.begin());
    if (uniform != batch.end())
      lines.insert(lines.end(), {lanesFrom(first, batch.size() - first),
                                 fmt::format("v_mul_lo_u32 v2, v1, s{}", *all_lanes_),
                                 fmt::format("v_mul_hi_u32 v3, v1, s{}", *all_lanes_)});
    if (uniform == batch.end() || first != 0) lines.push_back(lanesFrom(0, batch.size()));
    lines.insert(lines.end(), {fmt::format("{} v0, v[2:3], s[4:5] offset:{}", atomic,
                                           offsetof(fade_counter, more_lanes)),
                               "v_mov_b32_e32 v2, v1"});
    if (uniform != batch.end()) lines.push_back("v_mov_b32_e32 v3, 0");
    lines.push_back(fmt::format("{} v0, v[2:3], s[4:5]", atomic));
  }

  /// Adds clocks to memory. `skipped`: counters that lie before.
  void addTimes(std::size_t skipped, std::vector<std::string> &lines) const {
    std::vector<unsigned> sums;
    for (const auto &[place, sum] : times_.sums()) sums.push_back(sum);
    for (std::size_t first = 0, count = 0; first < sums.size(); first += count) {
      count = std::min<std::size_t>(waveSize(), sums.size() - first);
      lines.insert(lines.end(),
                   {fmt::format("s_add_u32 s4, s4, {}", skipped * sizeof(fade_counter)),
                    "s_addc_u32 s5, s5, 0", execTo("-1")});
      waitForScalars(lines);
      for (std::size_t n = 0; n < count; ++n)
        lines.insert(lines.end(),
                     {fmt::format("v_writelane_b32 v2, s{}, {}", sums[first + n], n),
                      fmt::format("v_writelane_b32 v3, s{}, {}", sums[first + n] + 1, n)});
      lines.insert(lines.end(), {lanesFrom(0, count), fmt::format("{} v0, v[2:3], s[4:5]",
                                                                  target_.version.major >= 11
                                                                      ? "global_atomic_add_u64"
                                                                      : "global_atomic_add_x2")});
      skipped = count;
    }
  }

  /// Waits for loads, all of them or those by the scalar unit.
  void waitForLoads(bool is_scalar, std::vector<std::string> &lines) const {
    if (target_.version.major < 12) {
      lines.push_back("s_waitcnt 0");
      return;
    }
    if (!is_scalar)
      lines.insert(lines.end(),
                   {"s_wait_loadcnt_dscnt 0", "s_wait_samplecnt 0", "s_wait_bvhcnt 0"});
    lines.push_back("s_wait_kmcnt 0");
  }

  /// Most waves run all blocks with all their lanes.
  void leaveIfNothingIsMissing() {
    const CopiedCode::Label is_some = copy_.label();
    const unsigned least = counters_.size() == 1 ? counters_[0].lanes : *temporary_;
    std::vector<std::string> lines;
    for (std::size_t n = 1; n < counters_.size(); ++n)
      lines.push_back(fmt::format("s_min_u32 s{}, s{}, s{}", least,
                                  n == 1 ? counters_[0].lanes : least, counters_[n].lanes));
    lines.push_back(fmt::format("s_cmp_lg_u32 s{}, s{}", least, *all_lanes_));
    copy_.put(lines);
    copy_.jump("s_cbranch_scc1", is_some);
    copy_.put({"s_endpgm"});
    copy_.place(is_some);
  }

  /// All waves end here.
  void writeEnd() {
    copy_.place(end_);
    std::vector<std::string> lines;
    if (out_.counts_missing) leaveIfNothingIsMissing();
    if (!counters_.empty() || !times_.empty()) {
      const bool is_gfx11 = target_.version.major >= 11;
      // The copy of the counters that this wave adds to follows from the compute unit it is on.
      const char *place =
          target_.version.major == 9 ? "hwreg(HW_REG_HW_ID, 8, 8)" : "hwreg(HW_REG_HW_ID1, 10, 10)";
      const unsigned control = arguments_ == 0 ? 2 : 0, copy = arguments_ == 0 ? 0 : 2;
      // Loads may still be under way to registers that are used here.
      waitForLoads(false, lines);
      if (has_matrix_) lines.insert(lines.end(), {"s_nop 15", "s_nop 15"});
      const char *load2 = is_gfx11 ? "s_load_b64" : "s_load_dwordx2";
      const char *load4 = is_gfx11 ? "s_load_b128" : "s_load_dwordx4";
      lines.insert(lines.end(), {fmt::format("{} {}, {}, {:#x}", load2, pairOf(control),
                                             pairOf(arguments_), controlOffset(in_.kernel)),
                                 execTo("-1"), "v_mbcnt_lo_u32_b32 v0, -1, 0"});
      if (!is_wave32_) lines.push_back("v_mbcnt_hi_u32_b32 v0, -1, v0");
      lines.push_back("v_lshlrev_b32_e32 v0, 4, v0");
      waitForLoads(true, lines);
      if (left_) {
        // Calls of code that is not counted.
        copy_.put(lines);
        lines.clear();
        const CopiedCode::Label none = copy_.label();
        copy_.put({fmt::format("s_cmp_eq_u32 s{}, 0", *left_)});
        copy_.jump("s_cbranch_scc1", none);
        copy_.put({execTo("1"), fmt::format("v_mov_b32_e32 v2, s{}", *left_), "v_mov_b32_e32 v3, 0",
                   fmt::format("{} v0, v[2:3], {} offset:{}",
                               is_gfx11 ? "global_atomic_add_u64" : "global_atomic_add_x2",
                               pairOf(control), offsetof(fade_control, dropped))});
        copy_.place(none);
      }
      lines.insert(lines.end(), {fmt::format("s_getreg_b32 s{}, {}", copy, place),
                                 fmt::format("{} s[4:7], {}, {:#x}", load4, pairOf(control),
                                             offsetof(fade_control, copies))});
      waitForLoads(true, lines);
      std::size_t done = 0;
      for (const std::string &line :
           {fmt::format("s_bitset0_b32 s7, 31"), fmt::format("s_and_b32 s{0}, s{0}, s7", copy),
            fmt::format("s_mul_i32 s{0}, s{0}, s6", copy),
            fmt::format("s_add_u32 s4, s4, s{}", copy), fmt::format("s_addc_u32 s5, s5, 0")}) {
        lines.push_back(line);
        waitForScalars(lines);
      }
      for (const Batch batch : batches()) {
        if (batch.data() != counters_.data()) {
          lines.insert(lines.end(),
                       {fmt::format("s_add_u32 s4, s4, {}", done * sizeof(fade_counter)),
                        "s_addc_u32 s5, s5, 0", execTo("-1")});
          waitForScalars(lines);
        }
        addToMemory(batch, lines);
        done = batch.size();
      }
      addTimes(done + (counts_entry_ ? 1 : 0), lines);
    }
    lines.push_back("s_endpgm");
    copy_.put(lines);
  }

  const CountingRequest &in_;
  const codeobj::Target &target_;
  const bool is_wave32_;
  const LaunchRegisters launch_;
  BlockTimes times_;
  CopiedCode copy_;
  std::size_t last_island_ = 0;
  const CopiedCode::Label end_ = copy_.label();
  CountingCode out_;
  std::vector<Counter> counters_;
  std::map<uint64_t, std::size_t> by_place_;
  std::map<uint64_t, bool> live_scc_;
  std::map<uint64_t, BlockTimes::Block> blocks_; ///< by place
  std::optional<unsigned> timed_;                ///< registers of the block that is being copied
  bool is_behind_call_ = false;
  std::vector<uint64_t> as_entry_; ///< places that run as often as the entry
  uint64_t last_end_ = 0;          ///< the end of waves that comes last
  bool counts_entry_ = false, saves_arguments_ = false, has_matrix_ = false;
  unsigned arguments_ = 0, highest_ = 0;
  unsigned first_vector_ = 0, execution_ = 0;
  std::optional<unsigned> temporary_, saved_scc_, all_lanes_;
  std::optional<unsigned> left_;     ///< calls of code that is not copied
  std::optional<unsigned> in_lanes_; ///< counters are in lanes as well, and EXEC is kept here
};

} // namespace

Result<CountingCode> makeCounting(const CountingRequest &request, Assembler &assembler) {
  constexpr int most_attempts = 16;
  Islands islands;
  for (int n = 1;; ++n) {
    auto code = Writer(request, assembler, islands).write();
    if (code || !islands.has_more || n == most_attempts) return code;
  }
}

} // namespace fade::rewrite
