#include "checks/stream_memory.h"

#include "checks/allocations.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>

namespace fade::checks {
namespace {

thread_local HostTime own_time;

} // namespace

HostTime HostTime::now() {
  static std::atomic<uint64_t> threads{0};
  if (own_time.thread == 0) own_time.thread = ++threads;
  ++own_time.time;
  return own_time;
}

StreamMemory &StreamMemory::instance() {
  static auto *memory = new StreamMemory; // outlives every exit handler
  return *memory;
}

void StreamMemory::add(AllocationInfo info) {
  info.number = AllocationMap::instance().takeNumber();
  const std::unique_lock lock(mutex_);
  auto at = pieces_.lower_bound(info.base);
  if (at != pieces_.begin() && std::prev(at)->first + std::prev(at)->second.info.size > info.base)
    --at;
  while (at != pieces_.end() && at->first < info.base + info.size) {
    if (at->second.info.is_freed) {
      past_.push_back(at->second);
      past_.back().reused_at = HostTime::now();
      if (past_.size() > kMostPast) past_.pop_front(), --freed_;
    }
    at = pieces_.erase(at);
  }
  if (pieces_.size() < kMost) pieces_.emplace(info.base, Piece{info, {}});
}

bool StreamMemory::free(uint64_t base, const HostCall (&by)[kMostCallers]) {
  const std::unique_lock lock(mutex_);
  const auto at = pieces_.find(base);
  if (at == pieces_.end() || at->second.info.is_freed) return false;
  at->second.info.is_freed = 1;
  std::ranges::copy(by, at->second.info.freed_by);
  at->second.freed_at = HostTime::now();
  ++freed_;
  return true;
}

std::optional<AllocationInfo> StreamMemory::at(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return std::nullopt;
  const AllocationInfo &info = std::prev(after)->second.info;
  return address - info.base < info.size ? std::optional(info) : std::nullopt;
}

std::optional<AllocationInfo> StreamMemory::freed(uint64_t base) const {
  const std::shared_lock lock(mutex_);
  const auto at = pieces_.find(base);
  if (at == pieces_.end() || !at->second.info.is_freed) return std::nullopt;
  return at->second.info;
}

bool StreamMemory::Piece::isFreedFor(uint64_t address, const HostTime &launched) const {
  return info.is_freed && address - info.base < info.size && launched.isAfter(freed_at) &&
         (reused_at.thread == 0 || reused_at.isAfter(launched));
}

const StreamMemory::Piece *StreamMemory::find(uint64_t address, const HostTime &launched) const {
  const auto after = pieces_.upper_bound(address);
  if (after != pieces_.begin() && std::prev(after)->second.isFreedFor(address, launched))
    return &std::prev(after)->second;
  for (const Piece &piece : past_)
    if (piece.isFreedFor(address, launched)) return &piece;
  return nullptr;
}

uint64_t StreamMemory::freedLanes(const ObservedAccess &access, const HostTime &launched,
                                  AllocationInfo &first) const {
  uint64_t found = 0;
  const std::shared_lock lock(mutex_);
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const Piece *piece = find(access.address[lane], launched);
    if (!piece) continue;
    if (!found) first = piece->info;
    found |= uint64_t{1} << lane;
  }
  return found;
}

} // namespace fade::checks
