#include "checks/unwritten_values.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace fade::checks {
namespace {

enum class Use : uint8_t { computes, moves, passes, picks };

/// Names, because an instruction's meaning is the executor's matter, and it has no other word for
/// what it does with a value.
Use useOf(const ObservedInstruction &instruction) {
  const std::string_view name = instruction.name;
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (instruction.selects) return Use::passes;
  if (instruction.counter != WaitCounter::none) // memory: for loads, registers are addresses
    return (has("load") || has("read")) && !has("d16") ? Use::computes : Use::passes;
  if (name == "v_mov_b32" || name == "v_mov_b64" || name == "s_mov_b32" || name == "s_mov_b64" ||
      has("v_accvgpr_"))
    return Use::moves;
  for (const std::string_view part :
       {"cndmask", "cselect", "cmov", "lane", "swap", "mov", "v_dual", "v_perm", "v_align", "_bfi",
        "s_barrier", "s_nop", "bpermute"})
    if (has(part)) return Use::passes;
  for (const std::string_view part : {"_and", "_or", "_lshl", "_lshr", "_ashr", "_bfe", "_pack"})
    if (has(part)) return Use::picks; // or puts bytes together
  return Use::computes;
}

} // namespace

unsigned UnwrittenDwords::firstDword(unsigned lane) const {
  for (unsigned k = 0; k < count; ++k)
    if (lanes[k] >> lane & 1) return k;
  return 0;
}

unsigned UnwrittenDwords::ofLane(unsigned lane) const {
  unsigned n = 0;
  for (unsigned k = 0; k < count; ++k) n += lanes[k] >> lane & 1;
  return n;
}

void UnwrittenValues::begin() {
  values_.clear();
  sources_.clear();
  kept_.clear();
}

void UnwrittenValues::put(bool vector, unsigned number, uint64_t lanes, uint32_t source) {
  values_.push_back({vector, static_cast<uint16_t>(number), lanes, source});
}

void UnwrittenValues::drop(const ObservedRange &range, uint64_t lanes) {
  std::erase_if(values_, [&](Value &v) {
    if (v.vector == range.vector && v.number >= range.first && v.number - range.first < range.count)
      v.lanes &= range.vector ? ~lanes : 0;
    return v.lanes == 0;
  });
}

void UnwrittenValues::load(const ObservedWave &wave, const ObservedAccess &access,
                           const UnwrittenDwords &dwords, const Finding &finding) {
  if (access.data == ObservedAccess::none) return;
  // One source for each instruction: a loop makes no more of them.
  auto at = std::ranges::find_if(
      sources_, [&](const Source &s) { return s.finding.place.pc == finding.place.pc; });
  if (at == sources_.end()) at = sources_.insert(at, {finding, false, false, {}});
  at->is_private = access.space == AccessSpace::scratch;
  at->is_piece = access.size <= 4;
  for (unsigned i = 0; at->is_piece && i < wave.lanes; ++i)
    at->position[i] = access.address[i] % kUnit;
  const auto source = static_cast<uint32_t>(at - sources_.begin());
  const bool vector = access.path != AccessPath::scalar;
  for (unsigned k = 0; k < dwords.count; ++k)
    if (dwords.lanes[k])
      put(vector, access.data + k, vector ? dwords.lanes[k] : ~uint64_t{0}, source);
  wave.also_wants = kWantsRegisters;
}

uint64_t UnwrittenValues::stored(const ObservedAccess &access, unsigned k) const {
  uint64_t lanes = 0;
  for (const Value &v : values_)
    if (holds(v, access, k)) lanes |= v.lanes;
  return lanes & access.lanes;
}

void UnwrittenValues::store(const ObservedWave &wave, const ObservedAccess &access,
                            Reporter &reporter) {
  for (Value &v : values_) {
    const Source &source = sources_[v.source];
    bool is_stored = false;
    for (unsigned k = 0; k * 4 < access.size; ++k) is_stored |= holds(v, access, k);
    const uint64_t stored = v.lanes & access.lanes;
    if (!is_stored || !stored) continue;
    bool is_used = source.is_private || access.kind == AccessKind::atomic;
    for (uint64_t lanes = source.is_piece ? stored : 0; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      is_used |= access.address[lane] % kUnit != source.position[lane];
    }
    if (!is_used) continue;
    report(wave, v, stored, access.pc, reporter);
    v.lanes &= ~access.lanes;
  }
}

void UnwrittenValues::keep(const ObservedAccess &access) {
  for (unsigned k = 0; k * 4 < access.size; ++k) {
    uint32_t source = 0;
    uint64_t unwritten = 0;
    for (const Value &v : values_)
      if (holds(v, access, k)) unwritten |= v.lanes, source = v.source;
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const uint64_t bit = uint64_t{1} << lane, dword = (access.address[lane] + 4 * k) / 4;
      if (unwritten & bit) {
        kept_[dword].lanes |= bit;
        kept_[dword].source = source;
      } else if (const auto at = kept_.find(dword); at != kept_.end()) {
        at->second.lanes &= ~bit;
      }
    }
  }
}

void UnwrittenValues::scratch(const ObservedWave &wave, const ObservedAccess &access) {
  if (values_.empty() && kept_.empty()) return;
  if (access.kind != AccessKind::load) return keep(access);
  if (access.data == ObservedAccess::none) return;
  for (unsigned k = 0; k * 4 < access.size; ++k) {
    Kept found;
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const auto at = kept_.find((access.address[lane] + 4 * k) / 4);
      if (at != kept_.end() && at->second.lanes >> lane & 1)
        found.lanes |= uint64_t{1} << lane, found.source = at->second.source;
    }
    if (!found.lanes) continue;
    put(true, access.data + k, found.lanes, found.source);
    wave.also_wants = kWantsRegisters;
  }
}

void UnwrittenValues::report(const ObservedWave &wave, const Value &value, uint64_t lanes,
                             uint64_t site, Reporter &reporter) {
  Finding f = sources_[value.source].finding;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  f.other = reporter.place(wave, value.vector ? lane : 0, site, AccessKind::load, 4);
  reporter.report(f, value.vector ? static_cast<uint64_t>(std::popcount(lanes)) : 1);
}

void UnwrittenValues::registers(const ObservedWave &wave, const ObservedInstruction &instruction,
                                uint64_t site, Reporter &reporter) {
  const Use use = useOf(instruction);
  std::vector<Value> moved;
  for (uint32_t i = 0; i < instruction.reads_count; ++i) {
    const ObservedRange &range = instruction.reads[i];
    for (Value &v : values_) {
      const unsigned at = v.number - range.first;
      const uint64_t lanes = v.vector ? v.lanes & instruction.lanes : v.lanes;
      if (v.vector != range.vector || v.number < range.first || at >= range.count || !lanes)
        continue;
      if (use == Use::moves && i == 0 && instruction.writes_count &&
          at < instruction.writes[0].count) {
        const ObservedRange &to = instruction.writes[0];
        moved.push_back({to.vector, static_cast<uint16_t>(to.first + at),
                         to.vector && !v.vector ? instruction.lanes : lanes, v.source});
      } else if (use == Use::computes || (use == Use::picks && !sources_[v.source].is_piece)) {
        report(wave, v, lanes, site, reporter);
        v.lanes &= v.vector ? ~lanes : 0; // once is enough
      }
    }
  }
  for (uint32_t i = 0; i < instruction.writes_count; ++i)
    drop(instruction.writes[i], instruction.lanes);
  std::erase_if(values_, [](const Value &v) { return v.lanes == 0; });
  values_.insert(values_.end(), moved.begin(), moved.end());
  if (values_.empty()) wave.also_wants = 0;
}

} // namespace fade::checks
