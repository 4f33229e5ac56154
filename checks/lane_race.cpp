#include "checks/lane_race.h"

#include "checks/allocations.h"
#include "checks/stored_value.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fade::checks {
namespace {

/// Nearly all accesses: each lane begins where the one before it ends, or behind that.
bool isRising(const ObservedAccess &access) {
  if (access.lane_stride) return true;
  uint64_t end = 0;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const uint64_t address = access.address[std::countr_zero(lanes)];
    if (address < end) return false;
    end = address + access.size;
  }
  return true;
}

} // namespace

bool LaneOverlap::find(const ObservedAccess &access, Pair &pair) {
  if (isRising(access)) return false;
  if (++turn_ == 0) entries_.fill({}), turn_ = 1;
  bool found = false;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t begin = access.address[lane], end = begin + access.size;
    for (uint64_t at = begin; at < end; at = (at | 3) + 1) {
      const uint64_t dword = at / 4;
      std::size_t slot = dword * 0x9e3779b97f4a7c15 >> 54;
      while (entries_[slot].turn == turn_ && entries_[slot].dword != dword)
        slot = (slot + 1) % kEntries;
      Entry &entry = entries_[slot];
      if (entry.turn != turn_) {
        entry = {dword, turn_, static_cast<uint16_t>(lane)};
        continue;
      }
      const unsigned other = entry.lane;
      const uint64_t theirs = access.address[other];
      const uint64_t from = std::max({theirs, begin, dword * 4});
      const uint64_t to = std::min({theirs + access.size, end, dword * 4 + 4});
      if (from >= to) continue; // other bytes of the dword
      const uint32_t different = storedAt(access, lane, from) ^ storedAt(access, other, from);
      const unsigned bytes = ((1u << (to - from)) - 1) << from % 4;
      const uint32_t wrong = different & maskOfBytes(bytes);
      if (wrong) {
        pair = {other, lane, dword * 4 + static_cast<unsigned>(std::countr_zero(wrong)) / 8, true};
        return true;
      }
      if (!found) pair = {other, lane, from, false}, found = true;
    }
  }
  return found;
}

bool LaneOverlap::meets(const ObservedAccess &access) {
  if (access.lane_stride) return false;
  const auto lane = static_cast<unsigned>(std::countr_zero(access.lanes));
  if (const uint64_t others = access.lanes & (access.lanes - 1);
      others && access.address[lane] == access.address[std::countr_zero(others)])
    return true;
  if (isRising(access)) return false;
  if (++turn_ == 0) entries_.fill({}), turn_ = 1;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const uint64_t address = access.address[std::countr_zero(lanes)];
    std::size_t slot = address * 0x9e3779b97f4a7c15 >> 54;
    while (entries_[slot].turn == turn_ && entries_[slot].dword != address)
      slot = (slot + 1) % kEntries;
    if (entries_[slot].turn == turn_) return true;
    entries_[slot] = {address, turn_, 0};
  }
  return false;
}

void LaneRaces::load(const ObservedAccess &access) {
  Load &load = loads_[count_++ % kLoads];
  load.pc = access.pc, load.lanes = access.lanes, load.size = access.size;
  load.space = access.space;
  std::memcpy(load.address.data(), access.address, sizeof load.address);
}

const LaneRaces::Load *LaneRaces::loadOf(const ObservedAccess &access,
                                         const LaneOverlap::Pair &pair) const {
  const uint64_t both = uint64_t{1} << pair.first | uint64_t{1} << pair.second;
  for (std::size_t i = 0; i < std::min(count_, kLoads); ++i) {
    const Load &load = loads_[(count_ - 1 - i) % kLoads];
    const uint64_t address = access.address[pair.first];
    if ((load.lanes & both) == both && load.space == access.space && load.size == access.size &&
        access.address[pair.second] == address && load.address[pair.first] == address &&
        load.address[pair.second] == address)
      return &load;
  }
  return nullptr;
}

std::optional<LaneRaces::Update> LaneRaces::updateOf(const ObservedAccess &access,
                                                     const LaneOverlap::Pair &pair,
                                                     const UpdatedValues &updates) const {
  UpdateSites &sites = UpdateSites::instance();
  const UpdatedValues::Origin origin = updates.originOf(access, pair.first, pair.second);
  if (origin.is_update) return Update{origin.site, origin.size, true};
  if (origin.is_known) {
    sites.cameBack(origin.site);
    return {};
  }
  const Load *load = loadOf(access, pair);
  if (!load || sites.hasComeBack(load->pc)) return {};
  if (updates.hasFollowed(load->pc, access.address[pair.first], pair.first)) {
    sites.cameBack(load->pc);
    return {};
  }
  return Update{load->pc, load->size, false};
}

bool LaneRaces::isStored(const ObservedAccess &access, unsigned lane, const std::byte *bytes,
                         uint32_t size) {
  const uint64_t begin = access.address[lane];
  for (uint32_t k = 0; k < size; ++k) {
    const uint64_t at = begin + k;
    if (static_cast<uint8_t>(storedAt(access, lane, at) >> 8 * (at % 4)) !=
        static_cast<uint8_t>(bytes[k]))
      return false;
  }
  return true;
}

void LaneRaces::report(const ObservedWave &wave, const ObservedAccess &access,
                       const LaneOverlap::Pair &pair, const Update *update, Reporter &reporter) {
  Finding f = reporter.begin(Check::race, update ? Problem::lost_update : Problem::lanes);
  f.space = static_cast<uint32_t>(access.space);
  f.place = reporter.place(wave, pair.second, access.pc, access.kind, access.size);
  f.other = update ? reporter.place(wave, pair.first, update->site, AccessKind::load, update->size)
                   : reporter.place(wave, pair.first, access.pc, access.kind, access.size);
  f.waves = update && update->is_certain;
  f.address = pair.byte;
  if (access.space == AccessSpace::global)
    if (const auto allocation = AllocationMap::instance().find(f.address)) {
      f.allocation = allocation->info();
      f.distance = static_cast<int64_t>(f.address - allocation->base);
    }
  reporter.report(f);
}

} // namespace fade::checks
