#include "isa/hazards.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace fade::sim {
namespace {

struct Step {
  uint64_t pc = 0;
  HazardUse use;
  bool falls_through = true;
  bool is_call = false; // and comes back
  size_t next = 0;      // behind it
  size_t jumps_to = 0;  // where a branch leads; `none`: nowhere
};
constexpr size_t none = ~size_t{0};

/// Instructions in the order of their addresses. What is none (padding, data) ends a path.
std::vector<Step> decode(const HazardTable &table, const char *gpu, bool wave32,
                         std::span<const uint8_t> code, uint64_t base) {
  LlvmDisassembler disassembler(gpu, wave32);
  std::vector<Step> steps;
  std::map<uint64_t, size_t> by_pc;
  std::map<size_t, uint64_t> targets;
  for (size_t at = 0; at + 4 <= code.size();) {
    const uint64_t pc = base + at;
    const auto registers = disassembler.registers(code.subspan(at), pc);
    if (!registers.size) {
      at += 4;
      if (!steps.empty()) steps.back().falls_through = false;
      continue;
    }
    Step &step = steps.emplace_back();
    by_pc[pc] = steps.size() - 1;
    step.pc = pc;
    step.use = table.use(registers, code.subspan(at, registers.size));
    const std::string &name = registers.mnemonic;
    if (name == "s_branch" || name.starts_with("s_cbranch_")) {
      int16_t words = 0;
      std::memcpy(&words, &code[at], sizeof words);
      targets[steps.size() - 1] = pc + 4 + static_cast<int64_t>(words) * 4;
    }
    step.is_call = name == "s_swappc_b64" || name == "s_call_b64";
    step.falls_through = name != "s_branch" && !name.starts_with("s_endpgm") && !step.use.leaves;
    at += registers.size;
  }
  for (size_t i = 0; i < steps.size(); i++) {
    steps[i].next = steps[i].falls_through && i + 1 < steps.size() ? i + 1 : none;
    const auto target = targets.find(i);
    const auto found = target == targets.end() ? by_pc.end() : by_pc.find(target->second);
    steps[i].jumps_to = found == by_pc.end() ? none : found->second;
  }
  return steps;
}

class Scan {
public:
  Scan(const HazardTable &table, const std::vector<Step> &steps) : table_(table), steps_(steps) {
    if (std::ranges::any_of(steps, [](const Step &s) { return s.use.first != 0; })) find_reads();
  }
  std::vector<Hazard> run() {
    for (size_t i = 0; i < steps_.size(); i++)
      if (steps_[i].use.first) {
        first_ = i;
        seen_.clear();
        follow(steps_[i].next, {});
        follow(steps_[i].jumps_to, {});
      }
    return std::move(found_);
  }

private:
  // Which scalar registers VALU may have read before each instruction.
  void find_reads() {
    read_pairs_.assign(steps_.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < steps_.size(); i++) {
        const Step &s = steps_[i];
        // A function may save all registers.
        const uint64_t read = s.is_call ? ~uint64_t{0} : read_pairs_[i] | pairs_read(s.use);
        const size_t next = s.is_call && i + 1 < steps_.size() ? i + 1 : s.next;
        for (const size_t to : {next, s.jumps_to})
          if (to != none && (read & ~read_pairs_[to])) read_pairs_[to] |= read, changed = true;
      }
    }
  }

  // Everything that is reached while something is left of the first instruction.
  void follow(size_t at, HazardTable::Passed passed) {
    while (at != none) {
      // With as little between them, or less, it was there before.
      if (!seen_.insert({at, passed.states, passed.ended}).second || seen_.size() > most) return;
      const HazardUse &first = steps_[first_].use, &use = steps_[at].use;
      Hazard h = table_.between(first, use, passed);
      if (h.needed && !(h.is_obscured && !(read_pairs_[first_] & pair_of(h.at)))) {
        h.first = steps_[first_].pc, h.pc = steps_[at].pc;
        if (reported_.insert({h.first, h.pc}).second) found_.push_back(h);
      }
      HazardTable::pass(passed, use);
      if (use.leaves || table_.is_over(first, passed)) return;
      if (steps_[at].jumps_to != none && steps_[at].next != none)
        follow(steps_[at].jumps_to, passed);
      at = steps_[at].next != none ? steps_[at].next : steps_[at].jumps_to;
    }
  }

  static constexpr size_t most = 4096; // of places that are looked at for one instruction
  const HazardTable &table_;
  const std::vector<Step> &steps_;
  std::vector<uint64_t> read_pairs_;
  size_t first_ = 0;
  std::set<std::tuple<size_t, unsigned, uint32_t>> seen_;
  std::set<std::pair<uint64_t, uint64_t>> reported_;
  std::vector<Hazard> found_;
};

} // namespace

std::vector<Hazard> find_hazards(const char *gpu, bool wave32, std::span<const uint8_t> code,
                                 uint64_t base) {
  const HazardTable table(gpu);
  if (!table.has_rules()) return {};
  const std::vector<Step> steps = decode(table, gpu, wave32, code, base);
  return Scan(table, steps).run();
}

} // namespace fade::sim
