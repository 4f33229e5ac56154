#include "checks/stray_values.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

namespace fade::checks {
namespace {

constexpr uint16_t kExecLo = 126, kExecHi = 127;

bool hasPart(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view p) { return name.find(p) != name.npos; });
}

bool crossesLanes(const ObservedInstruction &i) {
  return i.selects || hasPart(i.name, {"permute", "swizzle", "lane", "mfma", "wmma", "movrel"});
}
/// Of a scalar operand, each lane reads its own bit.
bool readsMask(std::string_view name) {
  return hasPart(name,
                 {"cndmask", "addc", "subb", "add_co_ci", "sub_co_ci", "subrev_co_ci", "div_fmas"});
}
/// Bit by bit.
bool isOfBits(std::string_view name) {
  return name.starts_with("s_") && hasPart(name, {"_and", "_or", "_xor", "_not_", "_mov_", "_nand",
                                                  "_nor", "_xnor", "_cselect", "_cmov"});
}
/// Of a bitwise instruction: the tainted bits of its inputs that other operands do not mask out.
uint64_t unmasked(const ObservedWave &wave, const ObservedInstruction &i, uint64_t bits,
                  std::span<const ObservedBytes> inputs) {
  const std::string_view name = i.name;
  const bool ands = name.find("_and") != name.npos || name.find("_nand") != name.npos;
  const bool ors = !ands && (name.find("_or") != name.npos || name.find("_nor") != name.npos);
  const bool inverts = name.find("n2_") != name.npos; // the second operand
  if (!ands && !ors) return bits;
  for (uint32_t k = 0; k < i.reads_count; ++k) {
    const ObservedRange &range = i.reads[k];
    const bool is_input = std::ranges::any_of(inputs, [&](const ObservedBytes &b) {
      return !b.vector && b.number >= range.first && b.number < range.first + range.count;
    });
    if (is_input || range.vector || range.first + range.count > 128) continue;
    uint64_t value = wave.scalar_registers[range.first];
    if (range.count > 1) value |= uint64_t{wave.scalar_registers[range.first + 1]} << 32;
    if (inverts && k == 1) value = ~value;
    bits &= ands ? value : ~value;
  }
  return bits;
}
/// Whether it writes EXEC, which is not among the registers that are told.
bool setsExec(const ObservedInstruction &i) {
  return isOfBits(i.name) &&
         std::ranges::none_of(std::span(i.writes, i.writes_count),
                              [](const ObservedRange &w) { return w.first != kObservedScc; });
}
bool isMemory(const ObservedInstruction &i) {
  return i.counter != WaitCounter::none && !hasPart(i.name, {"permute", "swizzle", "sendmsg"});
}

bool holds(const ObservedRange &range, bool vector, unsigned number) {
  return range.vector == vector && number >= range.first && number < range.first + range.count;
}

/// Bits of a register whose bytes are given as lanes[0..3], only the first bit of each counting.
uint32_t bitsOf(const ObservedBytes &bytes) {
  uint32_t bits = 0;
  for (unsigned b = 0; b < 4; ++b)
    if (bytes.lanes[b] & 1) bits |= 0xffu << (8 * b);
  return bits;
}

} // namespace

void StrayValues::begin() {
  values_.clear();
  sources_.clear();
  kept_.clear();
  read_.clear();
  doubt_ = {};
  decided_ = 0;
}

void StrayValues::put(const Value &value) {
  if (!value.lanes) return;
  const auto at = std::ranges::find_if(values_, [&](const Value &v) {
    return v.vector == value.vector && v.number == value.number && v.source == value.source &&
           v.is_weak == value.is_weak;
  });
  if (at == values_.end())
    values_.push_back(value);
  else
    at->lanes |= value.lanes;
}

void StrayValues::crossing(const ObservedWave &wave, const ObservedCrossing &crossing,
                           uint64_t site, const Reporter &reporter) {
  auto at = std::ranges::find(sources_, site, &Source::site);
  if (at == sources_.end()) {
    at = sources_.insert(at, Source{.site = site});
    at->finding = reporter.begin(Check::sync, Problem::inactive_lane);
  }
  std::copy_n(crossing.from, 64, at->from.begin());
  at->lanes = crossing.lanes;
  const auto source = static_cast<uint32_t>(at - sources_.begin());
  uint64_t strong = 0, weak = 0;
  for (uint64_t lanes = crossing.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    (wave.work_items >> crossing.from[lane] & 1 ? strong : weak) |= uint64_t{1} << lane;
  }
  put({true, crossing.result, strong, source, false});
  put({true, crossing.result, weak, source, true});
  wave.also_wants |= kWantsRegisters;
}

void StrayValues::report(const ObservedWave &wave, uint32_t source, uint64_t lanes, uint64_t site,
                         AccessKind kind, Reporter &reporter) {
  const auto user = static_cast<unsigned>(std::countr_zero(lanes));
  const Source &from = sources_[source];
  // It may have been handed on since.
  const auto lane =
      static_cast<unsigned>(std::countr_zero(lanes & from.lanes ? lanes & from.lanes : from.lanes));
  Finding f = from.finding;
  f.place = reporter.place(wave, lane, from.site, AccessKind::load, 4);
  f.other = reporter.place(wave, user, site, kind, 4);
  f.limit = from.from[lane];
  f.waves = wave.work_items >> from.from[lane] & 1;
  reporter.report(f, static_cast<uint64_t>(std::popcount(lanes)));
  // Once is enough, wherever it has been put meanwhile.
  for (Value &v : values_)
    if (v.source == source) v.lanes = v.vector ? v.lanes & ~lanes : 0;
  for (auto &[address, kept] : kept_)
    if (kept.source == source) kept.lanes &= ~lanes;
  if (decided_by_ == source) decided_ &= ~lanes;
}

struct StrayValues::Inputs {
  uint32_t source = 0;
  bool is_weak = true; ///< all of them
  std::vector<ObservedBytes> bytes{};
  uint64_t lanes = 0; ///< vector registers
  uint64_t bits = 0;  ///< scalar registers that hold a mask

  void add(const Value &value, const ObservedInstruction &instruction) {
    ObservedBytes b{value.vector, value.number, {}};
    for (unsigned i = 0; i < 4; ++i)
      b.lanes[i] = value.vector ? value.lanes : (value.lanes >> (8 * i) & 0xff) != 0;
    bytes.push_back(b);
    is_weak &= value.is_weak;
    if (value.vector) {
      lanes |= value.lanes;
      return;
    }
    for (uint32_t k = 0; k < instruction.reads_count; ++k)
      if (const ObservedRange &range = instruction.reads[k]; holds(range, false, value.number))
        bits |= value.lanes << (32 * ((value.number - range.first) & 1));
  }
};

/// What the results of an instruction are that reads some.
void StrayValues::follow(const ObservedWave &wave, const ObservedInstruction &instruction,
                         const Inputs &inputs, std::vector<Value> &after) {
  const std::string_view name = instruction.name;
  const bool compares = name.starts_with("v_cmp") || name.find("_co_") != name.npos;
  const bool by_bit = isOfBits(name), crosses = crossesLanes(instruction);
  const uint64_t by_lane = inputs.lanes | (readsMask(name) ? inputs.bits : 0);
  const bool has_uniform = inputs.bits && !readsMask(name);
  constexpr uint32_t most = 12;
  std::array<ObservedBytes, most> results{};
  const uint32_t count = instruction.trial->depends(
      inputs.bytes.data(), static_cast<uint32_t>(inputs.bytes.size()), results.data(), most);
  for (uint32_t i = 0; i < count; ++i) {
    const ObservedBytes &r = results[i];
    if (r.vector) {
      uint64_t lanes = (r.lanes[0] | r.lanes[1] | r.lanes[2] | r.lanes[3]) & instruction.lanes;
      if (!crosses && !has_uniform) lanes &= by_lane;
      after.push_back({true, r.number, lanes, inputs.source, inputs.is_weak});
      continue;
    }
    uint64_t bits = r.number == kObservedScc ? r.lanes[0] != 0 : bitsOf(r);
    unsigned half = 0; // of a pair of registers
    for (uint32_t k = 0; k < instruction.writes_count; ++k)
      if (holds(instruction.writes[k], false, r.number))
        half = (r.number - instruction.writes[k].first) & 1;
    if (r.number == kExecHi) half = 1;
    if (compares) bits &= (by_lane & instruction.lanes) >> (32 * half);
    if (by_bit && r.number != kObservedScc)
      bits &= unmasked(wave, instruction, inputs.bits, inputs.bytes) >> (32 * half);
    if (r.number != kExecLo && r.number != kExecHi)
      after.push_back({false, r.number, bits, inputs.source, inputs.is_weak});
    else if (!inputs.is_weak)
      decide(bits << (32 * half), instruction.lanes, inputs.source);
  }
  if (setsExec(instruction) && !inputs.is_weak)
    decide(unmasked(wave, instruction, inputs.bits, inputs.bytes) & instruction.lanes,
           instruction.lanes, inputs.source);
  if (!inputs.is_weak) return;
  doubt_.is_there = true;
  for (uint32_t k = 0; k < instruction.reads_count; ++k)
    for (unsigned n = 0; instruction.reads[k].vector && n < instruction.reads[k].count; ++n) {
      const auto number = static_cast<uint16_t>(instruction.reads[k].first + n);
      const bool is_input = std::ranges::any_of(
          inputs.bytes, [&](const ObservedBytes &b) { return b.vector && b.number == number; });
      if (is_input || number >= 512) continue;
      std::copy_n(wave.vector_registers[number], 64, doubt_.others.emplace_back().begin());
    }
}

/// What was computed with a 0 from beyond the last work-item, and is what it was before, is not
/// followed.
void StrayValues::settle(const ObservedWave &wave) {
  if (!doubt_.is_there) return;
  for (Value &v : values_) {
    if (!v.vector || !v.is_weak || v.number >= 512) continue;
    for (uint64_t lanes = v.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const uint32_t now = wave.vector_registers[v.number][lane];
      if (std::ranges::any_of(doubt_.others, [&](const auto &row) { return row[lane] == now; }))
        v.lanes &= ~(uint64_t{1} << lane);
    }
  }
  doubt_.is_there = false;
  doubt_.others.clear();
}

/// Until all lanes that are active now are so again.
void StrayValues::decide(uint64_t lanes, uint64_t of, uint32_t source) {
  if (!lanes) return;
  if (!decided_) decided_of_ = of;
  decided_ |= lanes;
  decided_by_ = source;
}

void StrayValues::drop(const ObservedInstruction &instruction) {
  if (std::string_view(instruction.name).starts_with("v_writelane")) return;
  for (uint32_t i = 0; i < instruction.writes_count; ++i)
    for (Value &v : values_)
      if (holds(instruction.writes[i], v.vector, v.number))
        v.lanes &= v.vector ? ~instruction.lanes : 0;
}

void StrayValues::registers(const ObservedWave &wave, const ObservedInstruction &instruction,
                            uint64_t site, Reporter &reporter) {
  settle(wave);
  if (widens_ && (instruction.lanes & decided_of_) == decided_of_) decided_ = 0;
  const std::string_view name = instruction.name;
  widens_ = name.starts_with("s_or_saveexec") ||
            (setsExec(instruction) && (name.starts_with("s_or_") || name.starts_with("s_mov_")));
  read_.clear();
  std::vector<Value> read, after;
  for (const Value &v : values_)
    for (uint32_t k = 0; k < instruction.reads_count; ++k)
      if (holds(instruction.reads[k], v.vector, v.number)) {
        if (!v.vector || v.lanes & instruction.lanes || crossesLanes(instruction))
          read.push_back(v);
        break;
      }
  if (isMemory(instruction)) {
    read_ = read;
    read_site_ = site;
  } else if (instruction.trial) {
    for (uint32_t source = 0; !read.empty() && source < sources_.size(); ++source) {
      Inputs inputs{source};
      for (const Value &v : read)
        if (v.source == source) inputs.add(v, instruction);
      if (!inputs.bytes.empty()) follow(wave, instruction, inputs, after);
    }
  } else {
    // A branch for the wave as a whole, or what nobody can say more about.
    for (const Value &v : read)
      if (!v.is_weak && name.starts_with("s_cbranch")) {
        report(wave, v.source,
               v.vector            ? v.lanes
               : instruction.lanes ? instruction.lanes
                                   : 1,
               site, AccessKind::load, reporter);
        break;
      }
  }
  drop(instruction);
  if (!name.starts_with("v_writelane")) // masks that are spilled are not followed
    for (const Value &v : after) put(v);
  if (decided_ & instruction.lanes && !isMemory(instruction))
    for (uint32_t i = 0; i < instruction.writes_count; ++i)
      for (unsigned n = 0; instruction.writes[i].vector && n < instruction.writes[i].count; ++n)
        put({true, static_cast<uint16_t>(instruction.writes[i].first + n),
             decided_ & instruction.lanes, decided_by_, false});
  std::erase_if(values_, [](const Value &v) { return v.lanes == 0; });
}

void StrayValues::keep(const ObservedAccess &access) {
  if (access.data == ObservedAccess::none) return;
  for (unsigned k = 0; k < std::max(1u, access.size / 4); ++k)
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const uint64_t bit = uint64_t{1} << lane, address = access.address[lane] / 4 + k;
      const auto at = std::ranges::find_if(values_, [&](const Value &v) {
        return v.vector && v.number == access.data + k && v.lanes & bit;
      });
      if (at != values_.end()) {
        Kept &kept = kept_[address];
        kept.lanes |= bit, kept.source = at->source, kept.is_weak = at->is_weak;
      } else if (const auto old = kept_.find(address); old != kept_.end()) {
        old->second.lanes &= ~bit;
        if (!old->second.lanes) kept_.erase(old);
      }
    }
}

void StrayValues::restore(const ObservedWave &wave, const ObservedAccess &access) {
  if (access.data == ObservedAccess::none || kept_.empty()) return;
  for (unsigned k = 0; k < std::max(1u, access.size / 4); ++k)
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const auto at = kept_.find(access.address[lane] / 4 + k);
      if (at == kept_.end() || !(at->second.lanes >> lane & 1)) continue;
      put({true, static_cast<uint16_t>(access.data + k), uint64_t{1} << lane, at->second.source,
           at->second.is_weak});
    }
  wave.also_wants |= kWantsRegisters;
}

void StrayValues::access(const ObservedWave &wave, const ObservedAccess &access,
                         Reporter &reporter) {
  if (access.space == AccessSpace::scratch)
    return access.kind == AccessKind::load ? restore(wave, access) : keep(access);
  const bool is_scalar = access.path == AccessPath::scalar;
  const std::vector<Value> read = std::move(read_);
  read_.clear();
  for (const Value &v : read) {
    // The address of a load of whole rows is what a mistake shows in first.
    const uint64_t lanes = v.vector ? v.lanes & access.lanes : is_scalar ? 1 : access.lanes;
    if (lanes) report(wave, v.source, lanes, read_site_, access.kind, reporter);
  }
  if (access.kind == AccessKind::load || is_scalar) return;
  if (const uint64_t lanes = decided_ & access.lanes)
    report(wave, decided_by_, lanes, access.pc, access.kind, reporter);
}

} // namespace fade::checks
