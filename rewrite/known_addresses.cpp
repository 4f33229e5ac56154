#include "rewrite/known_addresses.h"

#include "rewrite/scalar_fields.h"

namespace fade::rewrite {

KnownAddresses::KnownAddresses(const Program &program, bool is_assembly)
    : program_(program), is_assembly_(is_assembly) {
  for (std::size_t n = 0; n < program.pc_addresses.size(); ++n)
    completed_[program.pc_addresses[n].high] = static_cast<int>(n);
  for (const uint64_t address : program.reachedFrom(program.functions)) {
    const Instruction &i = program.instructions.at(address);
    written_by_functions_ |= i.writes;
    read_by_functions_ |= i.reads;
  }
  if (!program.pc_addresses.empty()) follow();
}

void KnownAddresses::follow() {
  std::vector<uint64_t> to_do;
  const auto meet = [&](uint64_t address, const State &state) {
    const auto [at, is_new] = states_.try_emplace(address, state);
    bool has_changed = is_new;
    for (unsigned r = 0; r < kRegisters && !is_new; ++r)
      if (const Id now = either(at->second[r], state[r]); now != at->second[r])
        at->second[r] = now, has_changed = true;
    if (has_changed) to_do.push_back(address);
  };
  for (const uint64_t entry : program_.entries) meet(entry, {});
  for (const uint64_t function : program_.functions) meet(function, {});
  while (!to_do.empty()) {
    const Instruction &i = program_.instructions.at(to_do.back());
    State state = states_.at(to_do.back());
    to_do.pop_back();
    step(i, state);
    for (const uint64_t next : program_.successors(i)) meet(next, state);
  }
}

void KnownAddresses::step(const Instruction &i, State &state) {
  const State before = state;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (i.writes.test(r))
      state[r] = kUnknown;
    else if (state[r] != kUnknown && i.flow == Flow::call && !isKept(i, before, r))
      state[r] = either(state[r], kUnknown);
  }
  const unsigned to = destination(i.word), from = source0(i.word);
  if (const auto at = completed_.find(i.address); at != completed_.end()) {
    const PcAddress &pc = program_.pc_addresses[static_cast<std::size_t>(at->second)];
    const unsigned low = destination(program_.instructions.at(pc.getpc).word);
    state[low] = idOf({half(at->second, false)});
    state[low + 1] = idOf({half(at->second, true)});
  } else if (i.mnemonic == "s_mov_b32" && from < kRegisters) {
    state[to] = before[from];
  } else if (i.mnemonic == "s_mov_b64" && from + 1 < kRegisters && to + 1 < kRegisters) {
    state[to] = before[from], state[to + 1] = before[from + 1];
  }
}

/// Compilers know which registers a function leaves alone, beyond those of the ABI.
bool KnownAddresses::isKept(const Instruction &call, const State &state, unsigned r) const {
  if (!is_assembly_ && isKeptByFunctions(r)) return true;
  const bool is_known = call.is_relative || !targetsOf(call, state).empty();
  return is_known && !written_by_functions_.test(r);
}

KnownAddresses::Numbers KnownAddresses::targetsOf(const Instruction &i) const {
  const auto at = states_.find(i.address);
  return at == states_.end() ? Numbers{} : targetsOf(i, at->second);
}

KnownAddresses::Numbers KnownAddresses::targetsOf(const Instruction &i, const State &state) const {
  const unsigned from = source0(i.word);
  if (from + 1 >= kRegisters || state[from] == kUnknown) return {};
  Numbers found;
  Halves high;
  for (const int each : sets_[static_cast<std::size_t>(state[from])]) {
    if (each == kAnythingElse || each % 2 != 0) return {};
    found.insert(each / 2);
    high.insert(each + 1);
  }
  if (sets_[static_cast<std::size_t>(state[from + 1])] != high) return {};
  return found;
}

KnownAddresses::Numbers KnownAddresses::seenAsData(const std::set<uint64_t> &known) const {
  Numbers seen;
  for (const auto &[address, state] : states_) {
    const Instruction &i = program_.instructions.at(address);
    const bool is_copy = (i.mnemonic == "s_mov_b32" || i.mnemonic == "s_mov_b64") &&
                         destination(i.word) < kScalarRegisters;
    const bool takes = known.contains(address);
    const bool is_end_of_function = i.flow == Flow::jump_back && !takes;
    for (unsigned r = 0; r < kScalarRegisters; ++r) {
      if (state[r] == kUnknown) continue;
      const bool is_read = i.reads.test(r) && !is_copy && !takes;
      // What functions of assembly get and return.
      const bool is_passed =
          is_assembly_ &&
          ((i.flow == Flow::call && read_by_functions_.test(r)) || is_end_of_function);
      if (is_read || is_passed) add(state[r], seen);
    }
  }
  return seen;
}

KnownAddresses::Id KnownAddresses::idOf(const Halves &halves) {
  const auto [at, is_new] = ids_.try_emplace(halves, static_cast<Id>(sets_.size()));
  if (is_new) sets_.push_back(halves);
  return at->second;
}

KnownAddresses::Id KnownAddresses::either(Id a, Id b) {
  if (a == b) return a;
  const std::pair key = std::minmax(a, b);
  if (const auto known = unions_.find(key); known != unions_.end()) return known->second;
  Halves both = sets_[static_cast<std::size_t>(a)];
  both.insert(sets_[static_cast<std::size_t>(b)].begin(), sets_[static_cast<std::size_t>(b)].end());
  return unions_[key] = idOf(both);
}

void KnownAddresses::add(Id held, Numbers &to) const {
  for (const int each : sets_[static_cast<std::size_t>(held)])
    if (each != kAnythingElse) to.insert(each / 2);
}

} // namespace fade::rewrite
