#include "hsa/death_watch.h"

#include "base/careful_read.h"
#include "codeobj/demangle.h"
#include "codeobj/sites.h"
#include "hsa/code_place.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <utility>

namespace fade {
namespace {

constexpr std::size_t kMostDispatches = 8, kMostArgumentBytes = 1024, kMostWaves = 64;
constexpr uint64_t kPage = 4096;

std::vector<std::string> reasonsOf(uint32_t mask) {
  constexpr std::array<std::pair<uint32_t, const char *>, 8> names = {
      {{1u << 0, "page not present"},
       {1u << 1, "read only"},
       {1u << 2, "not executable"},
       {1u << 3, "host memory only"},
       {1u << 4, "ECC error of device memory"},
       {1u << 5, "the address is not exact"},
       {1u << 6, "ECC error of a cache"},
       {1u << 31, "the GPU hung"}}};
  std::vector<std::string> reasons;
  for (const auto &[bit, name] : names)
    if (mask & bit) reasons.emplace_back(name);
  return reasons;
}

/// The innermost place of a site that is in a file.
void setPlace(const SiteTable &table, uint32_t site, DeathRecord &record) {
  const auto frames = codeobj::Sites::stack(table, site);
  if (frames.empty()) return;
  record.file = frames.front().file;
  record.line = frames.front().line;
  record.column = frames.front().column;
  record.function = codeobj::demangle(frames.front().function);
  if (frames.size() > 1) {
    const auto &outer = frames.back();
    record.called_from = fmt::format("{}:{}:{}", outer.file.substr(outer.file.rfind('/') + 1),
                                     outer.line, outer.column);
  }
}

/// What a wave wrote down. `fault`: the address of a fault, if it was one.
DeathRecord describe(const Record &record, const SiteTable &table, std::optional<uint64_t> fault) {
  const fade_site &site = table.sites()[record.site()];
  DeathRecord to;
  to.kind = codeobj::siteKindName(site.kind);
  setPlace(table, record.site(), to);
  to.lanes = record.laneCount();
  if (!record.isAccess()) return to;
  to.has_address = true;
  to.first = UINT64_MAX;
  const uint64_t size = record.hasLength() ? record.length() : site.size;
  to.bytes = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
  const uint64_t page = fault.value_or(0) & ~(kPage - 1);
  const bool is_suspect = fault && site.space != FADE_SPACE_LDS;
  record.forEachLane([&](uint32_t, uint64_t address) {
    to.first = std::min(to.first, address);
    to.last = std::max(to.last, address);
    const uint64_t end = address + std::max<uint64_t>(size, 1);
    if (is_suspect && address < page + kPage && end > page) ++to.hits;
  });
  return to;
}

} // namespace

void DeathWatch::dispatched(Dispatch &dispatch) noexcept {
  const std::lock_guard lock(mutex_);
  dispatch.previous = first_.previous;
  dispatch.next = &first_;
  first_.previous->next = &dispatch;
  first_.previous = &dispatch;
}

void DeathWatch::ended(Dispatch &dispatch) noexcept {
  const std::lock_guard lock(mutex_);
  if (!dispatch.next) return;
  dispatch.previous->next = dispatch.next;
  dispatch.next->previous = dispatch.previous;
  dispatch.previous = dispatch.next = nullptr;
}

HostStack DeathWatch::caller() noexcept {
  const auto begin = StackBudget::Clock::now();
  if (!budget_.allows(begin)) return {};
  const HostStack stack = HostStack::here();
  budget_.spend(StackBudget::Clock::now() - begin);
  return stack;
}

void DeathWatch::allocated(const void *address, uint64_t size) noexcept {
  try {
    Memory memory;
    memory.address = reinterpret_cast<uint64_t>(address);
    memory.size = size;
    memory.allocated_by = caller();
    const std::lock_guard lock(mutex_);
    memory.number = next_++;
    memory_[memory.address] = memory;
  } catch (...) { // a death without a name is better than one of ours
  }
}

HostStack DeathWatch::allocatedBy(uint64_t address) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = memory_.find(address);
  return at == memory_.end() ? HostStack{} : at->second.allocated_by;
}

void DeathWatch::freed(const void *address) noexcept {
  try {
    const HostStack by = caller();
    const std::lock_guard lock(mutex_);
    const auto at = memory_.find(reinterpret_cast<uint64_t>(address));
    if (at == memory_.end()) return;
    if (freed_.size() >= kMostFreed) freed_.pop_front();
    freed_.push_back(at->second);
    freed_.back().freed_by = by;
    freed_.back().was_freed = true;
    memory_.erase(at);
  } catch (...) {
  }
}

/// In order of their numbers.
std::vector<const DeathWatch::Dispatch *> DeathWatch::inFlight() const {
  std::vector<const Dispatch *> found;
  for (const Dispatch *at = first_.next; at != &first_; at = at->next)
    if (hsaApi().core.hsa_signal_load_relaxed_fn(at->signal) > 0) found.push_back(at);
  std::ranges::sort(found, {}, &Dispatch::id);
  return found;
}

const DeathWatch::Memory *DeathWatch::holding(uint64_t address) const {
  const auto after = memory_.upper_bound(address);
  if (after == memory_.begin()) return nullptr;
  const Memory &memory = std::prev(after)->second;
  return memory.holds(address) ? &memory : nullptr;
}

/// The latest that was there, if nothing is there any more.
const DeathWatch::Memory *DeathWatch::held(uint64_t address) const {
  if (holding(address)) return nullptr;
  const auto at = std::find_if(freed_.rbegin(), freed_.rend(),
                               [&](const Memory &memory) { return memory.holds(address); });
  return at == freed_.rend() ? nullptr : &*at;
}

DeathMemory DeathWatch::describe(const Memory &memory, uint64_t address,
                                 const HostSymbols &symbols) const {
  DeathMemory to;
  to.number = memory.number;
  to.address = memory.address;
  to.size = memory.size;
  to.was_freed = memory.was_freed;
  to.allocated_by = symbols.callers(memory.allocated_by);
  if (memory.was_freed) to.freed_by = symbols.callers(memory.freed_by);
  const uint64_t end = memory.address + memory.size;
  using Relation = DeathMemory::Relation;
  to.relation = address < memory.address ? Relation::before
                : address >= end         ? Relation::beyond
                                         : Relation::into;
  to.distance = to.relation == Relation::before   ? memory.address - address
                : to.relation == Relation::beyond ? address - end
                                                  : address - memory.address;
  return to;
}

void DeathWatch::addNearest(Death &death, const HostSymbols &symbols) const {
  const uint64_t address = death.address;
  const auto add = [&](const Memory &memory) {
    death.memory.push_back(describe(memory, address, symbols));
  };
  death.has_memory = !memory_.empty();
  if (const Memory *memory = held(address)) return add(*memory);
  if (const Memory *memory = holding(address)) return add(*memory);
  const auto after = memory_.upper_bound(address);
  if (after != memory_.begin()) add(std::prev(after)->second);
  if (after != memory_.end()) add(after->second);
}

void DeathWatch::addArguments(const Dispatch &from, DeathDispatch &to, uint64_t fault,
                              const HostSymbols &symbols) const {
  std::array<uint64_t, kMostArgumentBytes / 8> words{};
  const std::size_t size = std::min<std::size_t>(from.arguments_size & ~7u, kMostArgumentBytes);
  if (!from.arguments ||
      !readCarefully(words.data(), reinterpret_cast<uint64_t>(from.arguments), size))
    return;
  for (std::size_t i = 0; i < size / 8; ++i) {
    const Memory *memory = holding(words[i]);
    if (!memory) memory = held(words[i]);
    if (memory) to.arguments.push_back({i * 8, describe(*memory, fault, symbols)});
  }
}

void DeathWatch::addWaves(const Dispatch &from, DeathDispatch &to, std::optional<uint64_t> fault) {
  const ModuleSites *sites = from.kernel ? from.kernel->sites() : nullptr;
  to.is_instrumented = from.records != nullptr;
  to.adds_up = from.adds_up;
  if (!from.records || !sites) return;
  const SiteTable &table = sites->table;
  for (const LastRecords::Wave &wave : from.records->unended()) {
    DeathWave &own = to.waves.emplace_back();
    own.number = wave.number;
    Record record;
    if (RecordCursor begin(wave.begin); begin.next(record) == RecordCursor::Status::record) {
      const fade_wave_begin announced = record.waveBegin();
      own.is_known = true;
      own.workgroup = {announced.workgroup_x, announced.workgroup_y, announced.workgroup_z};
      const uint32_t x = announced.work_item & 1023, y = announced.work_item >> 10 & 1023,
                     z = announced.work_item >> 20 & 1023;
      own.in_group = (x + (y + z * from.workgroup[1]) * from.workgroup[0]) /
                     ((announced.header.encoding & FADE_WAVE_IS_WAVE32) != 0 ? 32 : 64);
    }
    for (const LastRecords::Kept &kept : wave.records) {
      RecordCursor cursor(kept.bytes);
      if (cursor.next(record) != RecordCursor::Status::record ||
          (!record.isAccess() && record.kind() != FADE_RECORD_BLOCK) ||
          record.site() >= table.sites().size())
        continue;
      own.records.push_back(fade::describe(record, table, fault));
    }
  }
  to.unended_waves = to.waves.size();
  std::ranges::sort(to.waves, {}, [](const DeathWave &wave) {
    return std::pair(UINT32_MAX - wave.hits(), wave.number);
  });
  if (to.waves.size() > kMostWaves) to.waves.resize(kMostWaves);
}

void DeathWatch::addInFlight(Death &death, const HostSymbols &symbols) const {
  const bool is_fault = death.kind == Death::Kind::memory_fault;
  const auto all = inFlight();
  death.in_flight = all.size();
  for (std::size_t i = 0; i < all.size() && i < kMostDispatches; ++i) {
    const Dispatch &from = *all[i];
    DeathDispatch &to = death.dispatches.emplace_back();
    to.id = from.id;
    to.queue = from.queue;
    to.agent = from.agent;
    if (from.kernel) {
      to.kernel = from.kernel->name();
      to.module = from.kernel->module();
      if (death.target.empty()) death.target = from.kernel->target();
    }
    to.grid = from.grid;
    to.workgroup = from.workgroup;
    to.residency = from.residency;
    addWaves(from, to, is_fault ? std::optional(death.address) : std::nullopt);
    addArguments(from, to, death.address, symbols);
  }
}

Death DeathWatch::fault(uint64_t address, uint32_t reasons) {
  const HostSymbols symbols;
  const std::lock_guard lock(mutex_);
  has_explained_ = true;
  Death death;
  death.kind = Death::Kind::memory_fault;
  death.address = address;
  death.reasons = reasonsOf(reasons);
  death.place = lastPlace();
  addNearest(death, symbols);
  addInFlight(death, symbols);
  return death;
}

Death DeathWatch::queueError(uint64_t queue, const std::string &error) {
  const HostSymbols symbols;
  const std::lock_guard lock(mutex_);
  has_explained_ = true;
  Death death;
  death.kind = Death::Kind::queue_error;
  death.queue = queue;
  death.error = error;
  death.place = lastPlace();
  addInFlight(death, symbols);
  return death;
}

std::optional<Death> DeathWatch::reset(std::vector<std::string> reasons) {
  const HostSymbols symbols;
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_explained_, true)) return std::nullopt;
  Death death;
  death.kind = Death::Kind::gpu_reset;
  death.reasons = std::move(reasons);
  addInFlight(death, symbols);
  return death;
}

std::optional<Death> DeathWatch::unended() {
  const HostSymbols symbols;
  const std::lock_guard lock(mutex_);
  if (has_explained_ || inFlight().empty()) return std::nullopt;
  Death death;
  addInFlight(death, symbols);
  return death;
}

} // namespace fade
