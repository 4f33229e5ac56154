#include "checks/updated_values.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace fade::checks {
namespace {

constexpr uint32_t kMostInstructions = 2048;
constexpr std::size_t kMostSources = 64;

bool hasAnyOf(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view p) { return name.find(p) != name.npos; });
}

/// Doing it twice is not the same as doing it once.
bool changesValue(std::string_view name) {
  return hasAnyOf(name, {"_add", "_sub", "_fma", "_mac", "_mad", "_mul", "_xor", "_lshl", "_dot"});
}
/// Its result is one of its operands.
bool choosesOperand(std::string_view name) { return hasAnyOf(name, {"_max", "_min", "_med3"}); }

/// What comes of a comparison is not made of the operands, nor what another lane gets.
bool isLeftOut(const ObservedInstruction &instruction) {
  return hasAnyOf(instruction.name, {"_cmp", "permute", "swizzle", "permlane", "movrel"});
}

bool isInRange(const ObservedRange &range, bool vector, unsigned number) {
  return range.vector == vector && number >= range.first && number < range.first + range.count;
}

unsigned dwordsOf(const ObservedAccess &access) { return std::max(1u, access.size / 4); }

} // namespace

UpdateSites &UpdateSites::instance() {
  static auto *const sites = new UpdateSites; // waves may outlive what runs at the end
  return *sites;
}

const UpdateSites::Entry *UpdateSites::find(uint64_t site) const {
  const std::size_t first = site * 0x9e3779b97f4a7c15 >> 51;
  for (std::size_t i = 0; i < kProbes; ++i) {
    const Entry &entry = entries_[(first + i) % kEntries];
    const uint64_t there = entry.site.load(std::memory_order_relaxed);
    if (there == site || there == 0) return &entry;
  }
  return nullptr;
}

bool UpdateSites::isSpent(uint64_t site) const {
  const Entry *entry = find(site);
  return !entry || (entry->times.load(std::memory_order_relaxed) & ~kCameBack) >= kMostTimes;
}

bool UpdateSites::takes(uint64_t site) {
  auto *entry = const_cast<Entry *>(find(site));
  if (!entry) return false;
  uint64_t nobody = 0;
  if (!entry->site.compare_exchange_strong(nobody, site) && nobody != site) return false;
  return (entry->times.fetch_add(1, std::memory_order_relaxed) & ~kCameBack) < kMostTimes;
}

void UpdateSites::cameBack(uint64_t site) {
  auto *entry = const_cast<Entry *>(find(site));
  if (entry) entry->times.fetch_or(kCameBack, std::memory_order_relaxed);
}

bool UpdateSites::hasComeBack(uint64_t site) const {
  const Entry *entry = find(site);
  return entry && (entry->times.load(std::memory_order_relaxed) & kCameBack) != 0;
}

void UpdatedValues::begin() { forgetAll(); }

void UpdatedValues::forgetAll() {
  values_.clear();
  sources_.clear();
  kept_.clear();
  choice_ = {};
}

void UpdatedValues::put(const Value &value) {
  if (!value.lanes) return;
  const auto at = std::ranges::find_if(values_, [&](const Value &v) {
    return v.vector == value.vector && v.number == value.number && v.source == value.source &&
           v.changed == value.changed;
  });
  if (at == values_.end())
    values_.push_back(value);
  else
    at->lanes |= value.lanes;
}

void UpdatedValues::load(const ObservedWave &wave, const ObservedAccess &access) {
  if (access.data == ObservedAccess::none) return;
  auto at = std::ranges::find(sources_, access.pc, &Source::site);
  if (at == sources_.end()) {
    if (sources_.size() == kMostSources) return;
    at = sources_.emplace(at);
  } else {
    const auto old = static_cast<uint16_t>(at - sources_.begin());
    std::erase_if(values_, [&](const Value &v) { return v.source == old; });
    std::erase_if(kept_, [&](const auto &entry) { return entry.second.source == old; });
  }
  const bool is_scalar = access.path == AccessPath::scalar;
  at->site = access.pc, at->lanes = is_scalar ? access.active : access.lanes;
  at->size = access.size, at->space = access.space;
  if (is_scalar)
    at->address.fill(access.address[0]);
  else
    std::copy_n(access.address, 64, at->address.begin());
  const auto source = static_cast<uint16_t>(at - sources_.begin());
  for (unsigned k = 0; k < dwordsOf(access); ++k)
    put({!is_scalar, false, static_cast<uint16_t>(access.data + k), source, at->lanes});
  left_ = kMostInstructions;
  wave.also_wants |= kWantsRegisters;
}

void UpdatedValues::scratch(const ObservedWave &wave, const ObservedAccess &access) {
  if (access.data == ObservedAccess::none || access.kind == AccessKind::atomic) return;
  const bool is_load = access.kind == AccessKind::load;
  if (is_load && kept_.empty()) return;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t bit = uint64_t{1} << lane;
    for (unsigned k = 0; k < access.size; ++k) {
      const uint64_t address = access.address[lane] + k;
      const auto number = static_cast<uint16_t>(access.data + k / 4);
      const auto old = kept_.find(address / 4);
      if (is_load) {
        if (old != kept_.end() && old->second.lanes[address % 4] & bit)
          put({true, old->second.changed, number, old->second.source, bit});
        continue;
      }
      // Of several that are in it, a changed one says more.
      const Value *stored = nullptr;
      for (const Value &v : values_)
        if (v.vector && v.number == number && v.lanes & bit && (!stored || v.changed)) stored = &v;
      if (!stored) {
        if (old != kept_.end()) old->second.lanes[address % 4] &= ~bit;
        continue;
      }
      Kept &kept = kept_[address / 4];
      if (kept.source != stored->source || kept.changed != stored->changed)
        kept = {{}, stored->source, stored->changed};
      kept.lanes[address % 4] |= bit;
    }
  }
  if (is_load) wave.also_wants |= kWantsRegisters;
}

void UpdatedValues::drop(const ObservedInstruction &instruction) {
  if (std::string_view(instruction.name).starts_with("v_writelane")) return;
  for (uint32_t i = 0; i < instruction.writes_count; ++i)
    for (Value &v : values_)
      if (isInRange(instruction.writes[i], v.vector, v.number))
        v.lanes &= v.vector ? ~instruction.lanes : 0;
}

void UpdatedValues::follow(const ObservedWave &wave, const ObservedInstruction &instruction,
                           uint16_t source, std::vector<Value> &after) {
  std::vector<ObservedBytes> inputs;
  uint64_t by_lane = 0;
  bool changed = changesValue(instruction.name), is_uniform = false;
  for (const Value &v : values_) {
    if (v.source != source) continue;
    const bool is_read = std::ranges::any_of(
        std::span(instruction.reads, instruction.reads_count),
        [&](const ObservedRange &r) { return isInRange(r, v.vector, v.number); });
    const uint64_t lanes = v.lanes & (v.vector ? instruction.lanes : ~uint64_t{0});
    if (!is_read || !lanes) continue;
    const uint64_t some = v.vector ? lanes : 1;
    inputs.push_back({v.vector, v.number, {some, some, some, some}});
    is_uniform |= !v.vector;
    by_lane |= lanes;
    changed |= v.changed;
    if (v.vector && v.number < 512 && choosesOperand(instruction.name))
      std::copy_n(wave.vector_registers[v.number], 64, choice_.operands.emplace_back().begin());
  }
  if (inputs.empty()) return;
  constexpr uint32_t most = 12;
  std::array<ObservedBytes, most> results{};
  const uint32_t count = instruction.trial->depends(
      inputs.data(), static_cast<uint32_t>(inputs.size()), results.data(), most);
  const bool reads_lane = hasAnyOf(instruction.name, {"readlane", "readfirstlane"});
  for (uint32_t i = 0; i < count; ++i) {
    const ObservedBytes &r = results[i];
    const uint64_t lanes = r.lanes[0] | r.lanes[1] | r.lanes[2] | r.lanes[3];
    // Carries and conditions are not followed.
    const bool is_condition =
        !r.vector && (r.number >= 106 || (instruction.name[0] == 'v' && !reads_lane));
    if (is_condition || !lanes) continue;
    const uint64_t of = r.vector ? lanes & instruction.lanes & (is_uniform ? ~uint64_t{0} : by_lane)
                                 : sources_[source].lanes;
    after.push_back({r.vector, changed, r.number, source, of});
    if (r.vector && choosesOperand(instruction.name)) choice_.results.push_back(r.number);
  }
}

void UpdatedValues::settle(const ObservedWave &wave) {
  if (choice_.results.empty()) return choice_.operands.clear();
  for (Value &v : values_) {
    if (!v.vector || v.number >= 512 ||
        std::ranges::find(choice_.results, v.number) == choice_.results.end())
      continue;
    for (uint64_t lanes = v.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const uint32_t now = wave.vector_registers[v.number][lane];
      if (std::ranges::none_of(choice_.operands, [&](const auto &row) {
            return ((row[lane] ^ now) & choice_.mask) == 0;
          }))
        v.lanes &= ~(uint64_t{1} << lane);
    }
  }
  choice_.results.clear(), choice_.operands.clear();
}

void UpdatedValues::registers(const ObservedWave &wave, const ObservedInstruction &instruction) {
  settle(wave);
  if (left_ == 0) return forgetAll();
  --left_;
  std::vector<Value> after;
  const bool is_memory =
      instruction.counter != WaitCounter::none && !isLeftOut(instruction); // access() comes next
  if (instruction.trial && !is_memory && !isLeftOut(instruction)) {
    choice_.mask = hasAnyOf(instruction.name, {"16"}) ? 0xffff : ~0u;
    for (std::size_t source = 0; source < sources_.size(); ++source)
      follow(wave, instruction, static_cast<uint16_t>(source), after);
  }
  drop(instruction);
  for (const Value &v : after) put(v);
  std::erase_if(values_, [](const Value &v) { return v.lanes == 0; });
}

bool UpdatedValues::hasFollowed(uint64_t site, uint64_t address, unsigned lane) const {
  return left_ != 0 && std::ranges::any_of(sources_, [&](const Source &s) {
           return s.site == site && s.lanes >> lane & 1 && s.address[lane] == address;
         });
}

UpdatedValues::Origin UpdatedValues::originOf(const ObservedAccess &access, unsigned first,
                                              unsigned second) const {
  Origin origin;
  if (access.data == ObservedAccess::none) return origin;
  const uint64_t both = uint64_t{1} << first | uint64_t{1} << second;
  const uint64_t address = access.address[first];
  for (const Value &v : values_) {
    if (!v.vector || (v.lanes & both) != both || v.number < access.data ||
        v.number >= access.data + dwordsOf(access))
      continue;
    const Source &source = sources_[v.source];
    if (source.space != access.space || (source.lanes & both) != both ||
        source.address[first] != source.address[second] || address < source.address[first] ||
        address >= source.address[first] + source.size)
      continue;
    origin.is_update |= v.changed;
    origin.is_known = true, origin.site = source.site, origin.size = source.size;
    if (origin.is_update) break;
  }
  return origin;
}

} // namespace fade::checks
