#include "analysis/wave_timeline.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace fade::profile {
namespace {

using codeobj::MemoryOperation;
using codeobj::MemorySpace;
using codeobj::Unit;

std::string_view mnemonicOf(const ProfiledInstruction &one) {
  return std::string_view(one.text).substr(0, one.text.find(' '));
}

/// The number that stands behind `word`, as in "vmcnt(3)" and "s_wait_loadcnt 0x3".
std::optional<uint64_t> numberBehind(std::string_view text, std::string_view word) {
  const auto found = text.find(word);
  if (found == text.npos) return std::nullopt;
  std::string_view rest = text.substr(found + word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" ("), rest.size()));
  const int base = rest.starts_with("0x") ? 16 : 10;
  if (base == 16) rest.remove_prefix(2);
  uint64_t number = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), number, base);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

/// Where a jump back goes to: the number is that of dwords behind it.
std::optional<uint64_t> targetOf(const ProfiledInstruction &one) {
  const std::string_view name = mnemonicOf(one);
  if (!name.starts_with("s_cbranch") && !name.starts_with("s_branch")) return std::nullopt;
  const auto dwords = numberBehind(one.text, name);
  if (!dwords || *dwords > 0xffff) return std::nullopt;
  const auto distance = static_cast<int64_t>(static_cast<int16_t>(*dwords)) * 4;
  return static_cast<uint64_t>(static_cast<int64_t>(one.address) + 4 + distance);
}

/// What is under way, in the order in which it comes back.
struct UnderWay {
  struct Load {
    std::size_t instruction = 0;
    double ready = 0;
  };
  std::vector<Load> loads;

  void add(std::size_t instruction, double ready) {
    // What was issued before comes back before.
    if (!loads.empty()) ready = std::max(ready, loads.back().ready);
    loads.push_back({instruction, ready});
    if (loads.size() > 64) loads.erase(loads.begin()); // more than any counter counts
  }
  /// All but the last `left` are there: the last of those.
  std::optional<Load> takeAllBut(uint64_t left) {
    if (loads.size() <= left) return std::nullopt;
    const auto end = loads.end() - static_cast<std::ptrdiff_t>(left);
    const Load last = *(end - 1);
    loads.erase(loads.begin(), end);
    return last;
  }
};

class Timeline {
public:
  Timeline(const KernelProfile &kernel, const GpuModel &gpu)
      : kernel_(kernel), gpu_(gpu), times_(kernel.instructions.size()),
        steps_(kernel.instructions.size() * 32 + 1000) {
    has_store_counter_ = gpu.smallest_wave == 32;
    has_lds_counter_ = kernel.target.starts_with("gfx12");
    for (std::size_t i = 0; i < times_.size(); ++i) setCosts(i);
  }
  std::vector<InstructionTime> run() {
    walk(0, times_.size(), false);
    addBarriers();
    return std::move(times_);
  }

private:
  void setCosts(std::size_t i);
  double latencyOf(const ProfiledInstruction &one) const;
  void walk(std::size_t first, std::size_t end, bool is_again);
  void issue(std::size_t i);
  void wait(std::size_t i, UnderWay &counter, uint64_t left);
  void waitAt(std::size_t i);
  std::optional<std::size_t> indexOf(uint64_t address) const;
  void addBarriers();
  double waitBefore(std::size_t barrier, std::size_t begin,
                    const std::vector<std::pair<std::size_t, std::size_t>> &loops) const;

  UnderWay &ldsCounter() { return has_lds_counter_ ? lds_ : scalar_; }

  const KernelProfile &kernel_;
  const GpuModel &gpu_;
  std::vector<InstructionTime> times_;
  UnderWay vector_, scalar_, lds_;
  double now_ = 0;
  std::size_t steps_; ///< that are left: loops in loops are not gone through for ever
  bool has_store_counter_ = false, has_lds_counter_ = false;
};

void Timeline::setCosts(std::size_t i) {
  const ProfiledInstruction &one = kernel_.instructions[i];
  InstructionTime &time = times_[i];
  const double pass = std::max(1.0, static_cast<double>(kernel_.wave_size) / gpu_.simd_lanes);
  time.issue = gpu_.issue_cycles;
  switch (one.info.unit) {
  case Unit::Valu:
    time.busy = pass * (one.info.flop_type == codeobj::NumberType::F64 ? gpu_.f64_factor : 1) *
                (isSlow(mnemonicOf(one)) ? gpu_.slow_factor : 1);
    break;
  case Unit::Matrix: {
    const double rate = gpu_.matrix_rate[static_cast<std::size_t>(one.info.flop_type)];
    const double vector = gpu_.vector_rate[static_cast<std::size_t>(codeobj::NumberType::F32)];
    time.busy = one.info.wave_flops / ((rate > 0 ? rate : vector) / gpu_.simds);
    break;
  }
  case Unit::Salu:
  case Unit::Smem:
  case Unit::Branch: time.busy = 1 / gpu_.salu_per_cycle; break;
  case Unit::Vmem: time.busy = static_cast<double>(kernel_.wave_size) / gpu_.address_lanes; break;
  case Unit::Lds: time.busy = std::max(1.0, one.info.width * kernel_.wave_size / 128.0); break;
  default: break;
  }
  if (one.info.unit == Unit::Valu || one.info.unit == Unit::Matrix)
    time.issue = std::max(time.issue, time.busy);
}

double Timeline::latencyOf(const ProfiledInstruction &one) const {
  switch (one.info.unit) {
  case Unit::Smem: return gpu_.scalar_latency;
  case Unit::Lds: return gpu_.lds_latency + one.extra_turns;
  default: break;
  }
  if (one.info.memory == MemoryOperation::Store) return gpu_.l2_latency;
  if (one.info.memory == MemoryOperation::Atomic) return gpu_.l2_latency;
  if (one.info.space == MemorySpace::Scratch) return gpu_.l1_latency;
  return one.l1_hits * gpu_.l1_latency + one.l2_hits * gpu_.l2_latency +
         std::max(1 - one.l1_hits - one.l2_hits, 0.0) * gpu_.memory_latency;
}

std::optional<std::size_t> Timeline::indexOf(uint64_t address) const {
  const auto &all = kernel_.instructions;
  const auto found = std::ranges::lower_bound(all, address, {}, &ProfiledInstruction::address);
  if (found == all.end() || found->address != address) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

void Timeline::walk(std::size_t first, std::size_t end, bool is_again) {
  for (std::size_t i = first; i < end && steps_ != 0; ++i) {
    --steps_;
    if (kernel_.instructions[i].executions == 0) continue;
    issue(i);
    // The way back, once: what is under way at the end of a turn is waited for in the next.
    if (!is_again || i + 1 != end)
      if (const auto target = targetOf(kernel_.instructions[i]);
          target && *target <= kernel_.instructions[i].address)
        if (const auto begin = indexOf(*target); begin && *begin >= first)
          walk(*begin, i + 1, true);
  }
}

void Timeline::issue(std::size_t i) {
  const ProfiledInstruction &one = kernel_.instructions[i];
  if (one.info.unit == Unit::Wait) waitAt(i);
  now_ += times_[i].issue;
  switch (one.info.unit) {
  case Unit::Vmem:
    if (one.info.memory == MemoryOperation::Store && has_store_counter_) break;
    vector_.add(i, now_ + latencyOf(one));
    break;
  case Unit::Lds: ldsCounter().add(i, now_ + latencyOf(one)); break;
  case Unit::Smem: scalar_.add(i, now_ + latencyOf(one)); break;
  default: break;
  }
}

void Timeline::waitAt(std::size_t i) {
  const std::string_view text = kernel_.instructions[i].text;
  times_[i].waits = 0;
  times_[i].waits_for.reset();
  const double before = now_;
  if (text.starts_with("s_waitcnt_vscnt")) return;
  if (const auto left = numberBehind(text, "vmcnt")) wait(i, vector_, *left);
  if (const auto left = numberBehind(text, "loadcnt")) wait(i, vector_, *left);
  if (const auto left = numberBehind(text, "kmcnt")) wait(i, scalar_, *left); // lgkmcnt, too
  if (const auto left = numberBehind(text, "s_wait_dscnt")) wait(i, ldsCounter(), *left);
  // Two in one number, of six bits each.
  const auto both = numberBehind(text, "cnt_dscnt");
  if (both && text.starts_with("s_wait_loadcnt")) wait(i, vector_, *both >> 8 & 63);
  if (both) wait(i, ldsCounter(), *both & 63);
  times_[i].waits = now_ - before;
}

void Timeline::wait(std::size_t i, UnderWay &counter, uint64_t left) {
  const auto last = counter.takeAllBut(left);
  if (!last || last->ready <= now_) return;
  now_ = last->ready;
  times_[i].waits_for = last->instruction;
}

/// How long an average wave waits at a barrier for the slowest one of its workgroup: for what only
/// some of the waves do, behind the barrier before or the head of the loop. Loops within are done
/// by the waves that come to what is in front of them.
double Timeline::waitBefore(std::size_t barrier, std::size_t begin,
                            const std::vector<std::pair<std::size_t, std::size_t>> &loops) const {
  const double of_group = static_cast<double>(kernel_.waves) /
                          static_cast<double>(std::max<uint64_t>(kernel_.workgroups, 1));
  const auto all = static_cast<double>(kernel_.instructions[barrier].executions);
  double wait = 0;
  for (std::size_t i = begin; i < barrier; ++i) {
    const auto executions = static_cast<double>(kernel_.instructions[i].executions);
    std::size_t outside = i; // in front of the outermost loop around it
    for (const auto &[head, end] : loops)
      if (head > begin && end < barrier && head <= outside && i <= end) outside = head - 1;
    const double share =
        std::min(static_cast<double>(kernel_.instructions[outside].executions) / all, 1.0);
    if (share == 0 || share == 1) continue;
    const double cycles = executions / (share * all) * (times_[i].issue + times_[i].waits);
    wait += cycles * (std::min(share * of_group, 1.0) - share);
  }
  return std::max(wait, 0.0);
}

void Timeline::addBarriers() {
  if (kernel_.waves <= kernel_.workgroups || kernel_.workgroups == 0) return;
  std::vector<std::pair<std::size_t, std::size_t>> loops; // heads, and the jumps back
  for (std::size_t i = 0; i < times_.size(); ++i)
    if (const auto target = targetOf(kernel_.instructions[i]);
        target && *target <= kernel_.instructions[i].address)
      if (const auto head = indexOf(*target)) loops.emplace_back(*head, i);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const ProfiledInstruction &one = kernel_.instructions[i];
    if (one.info.unit != Unit::Barrier || one.executions == 0) continue;
    for (const auto &[head, end] : loops)
      if (head <= i && i <= end) begin = std::max(begin, head);
    times_[i].waits = waitBefore(i, begin, loops);
    begin = i + 1;
  }
}

} // namespace

bool isSlow(std::string_view mnemonic) {
  static constexpr std::array<std::string_view, 14> kNames = {
      "v_rcp_",       "v_rsq_",       "v_sqrt_",       "v_exp_",       "v_log_",
      "v_sin_",       "v_cos_",       "v_s_",          "v_mul_lo_u32", "v_mul_lo_i32",
      "v_mul_hi_u32", "v_mul_hi_i32", "v_mad_u64_u32", "v_mad_i64_i32"};
  return mnemonic.find("u24") == mnemonic.npos && mnemonic.find("i24") == mnemonic.npos &&
         std::ranges::any_of(kNames, [&](std::string_view n) { return mnemonic.starts_with(n); });
}

std::vector<InstructionTime> timelineOf(const KernelProfile &kernel, const GpuModel &gpu) {
  return Timeline(kernel, gpu).run();
}

} // namespace fade::profile
