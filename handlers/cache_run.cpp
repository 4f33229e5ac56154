#include "cache_run.h"

namespace fade::handlers {

void CacheRun::access(uint32_t wave, CacheUse use, std::span<const CacheRequest> requests) {
  if (requests_.size() + requests.size() > kMostRequests) {
    was_cut_ = was_cut_ || !requests_.empty();
    runWaiting();
  }
  waves_[wave].events.push_back(
      {static_cast<uint32_t>(requests_.size()), static_cast<uint32_t>(requests.size()), use});
  for (const CacheRequest &request : requests) {
    requests_.push_back(request);
    if (request.who >= traffic_.size()) {
      traffic_.resize(request.who + 1);
      reuse_.resize(request.who + 1);
      lines_.resize(request.who + 1);
    }
    lines_[request.who].add(request.line);
  }
}

/// Workgroups are whole or not there: their waves may wait for each other.
void CacheRun::admit(Unit &unit) const {
  while (unit.next_group < unit.groups.size()) {
    const auto &group = unit.groups[unit.next_group];
    if (!unit.resident.empty() && unit.resident.size() + group.size() > waves_per_unit_) return;
    unit.resident.insert(unit.resident.end(), group.begin(), group.end());
    ++unit.next_group;
  }
}

void CacheRun::runWaiting() {
  std::map<uint64_t, std::vector<Wave *>> groups;
  for (auto &[id, wave] : waves_)
    if (!wave.events.empty()) groups[wave.workgroup].push_back(&wave);
  std::vector<Unit> units(std::min<std::size_t>(sizes_.units, groups.size()));
  std::size_t ordinal = 0;
  for (auto &[number, group] : groups)
    units[ordinal++ % units.size()].groups.push_back(std::move(group));
  bool is_any_left = true;
  while (is_any_left) {
    is_any_left = false;
    for (std::size_t i = 0; i < units.size(); ++i) {
      Unit &unit = units[i];
      admit(unit);
      if (unit.resident.empty()) continue;
      is_any_left = true;
      unit.turn %= unit.resident.size();
      Wave &wave = *unit.resident[unit.turn];
      execute(static_cast<uint32_t>(i), wave.events[wave.next++]);
      if (wave.next == wave.events.size())
        unit.resident.erase(unit.resident.begin() + static_cast<std::ptrdiff_t>(unit.turn));
      else
        ++unit.turn;
    }
  }
  for (auto &[id, wave] : waves_) {
    wave.events.clear();
    wave.next = 0;
  }
  requests_.clear();
}

void CacheRun::load(uint32_t unit, const CacheRequest &request) {
  const uint64_t shared_line = request.line * sizes_.l1_line / sizes_.l2_line;
  Traffic &traffic = traffic_[request.who];
  if (own(unit).touch(request.line)) {
    ++traffic.l1_hits;
    shared_.want(shared_line, request.dwords);
  } else if (shared_.access(shared_line, request.dwords, false, request.who, traffic_)) {
    ++traffic.l2_hits;
  }
}

void CacheRun::execute(uint32_t unit, const Event &event) {
  for (const CacheRequest &request : std::span(requests_).subspan(event.first, event.count)) {
    const uint64_t shared_line = request.line * sizes_.l1_line / sizes_.l2_line;
    ++traffic_[request.who].requests;
    reuse_[request.who].add(distance_.use(shared_line));
    if (event.use == CacheUse::load) {
      load(unit, request);
      continue;
    }
    bool is_hit = true;
    if (event.use == CacheUse::atomic)
      is_hit = shared_.access(shared_line, request.dwords, false, request.who, traffic_);
    const bool is_there = shared_.access(shared_line, request.dwords, true, request.who, traffic_);
    if (event.use == CacheUse::store) is_hit = is_there;
    if (is_hit) ++traffic_[request.who].l2_hits;
  }
}

void CacheRun::finish() {
  runWaiting();
  shared_.flush(traffic_);
  for (auto &own : own_) own.reset();
}

} // namespace fade::handlers
