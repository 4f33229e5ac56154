#include "stream/last_records.h"

#include <algorithm>
#include <cstring>

namespace fade {
namespace {

/// The record at the start of bytes that were checked.
bool recordAt(std::span<const std::byte> bytes, Record &record) {
  RecordCursor cursor(bytes);
  return cursor.next(record) == RecordCursor::Status::record;
}

} // namespace

void LastRecords::Saved::save(std::span<const std::byte> bytes) {
  Record record;
  if (!recordAt(bytes, record)) return;
  size = static_cast<uint32_t>(record.size());
  if (size <= small.size())
    std::memcpy(small.data(), bytes.data(), size);
  else
    large.assign(bytes.begin(), bytes.begin() + size);
}

std::vector<std::byte> LastRecords::Saved::bytes() const {
  return size <= small.size() ? std::vector<std::byte>(small.begin(), small.begin() + size) : large;
}

void LastRecords::add(Scan &scan, std::span<const std::byte> batch, uint64_t position) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < scan.count_; ++i)
      addWave(scan.slots_[scan.used_[i]], batch, position);
  } catch (...) { // an explanation with less in it
  }
  for (std::size_t i = 0; i < scan.count_; ++i) scan.slots_[scan.used_[i]] = {};
  scan.count_ = 0;
}

void LastRecords::addWave(const Scan::Slot &slot, std::span<const std::byte> batch,
                          uint64_t position) {
  Record record;
  const bool ends = slot.last != Scan::kNone && recordAt(batch.subspan(slot.last), record) &&
                    record.kind() == FADE_RECORD_WAVE_END;
  // A wave that lives and dies within a batch is nobody's concern. Of one that ends here, batches
  // may still come that are older: it has to be remembered that it has ended.
  if (ends && slot.begin != Scan::kNone) return;
  Entry *const found = entryOf(slot.wave);
  if (!found || found->has_ended) return;
  if (ends) {
    found->has_ended = true;
    ++ended_;
    return;
  }
  if (slot.begin != Scan::kNone) found->begin.save(batch.subspan(slot.begin));
  for (const uint32_t offset : {slot.previous, slot.last}) {
    if (offset == Scan::kNone) continue;
    auto &positions = found->positions;
    const bool is_full = found->count == kPerWave;
    const std::size_t to =
        is_full ? static_cast<std::size_t>(std::ranges::min_element(positions) - positions.begin())
                : found->count++;
    if (is_full && positions[to] > position + offset) continue;
    positions[to] = position + offset;
    found->records[to].save(batch.subspan(offset));
  }
}

/// Null if there are too many that have not ended.
LastRecords::Entry *LastRecords::entryOf(uint32_t wave) {
  if (places_.empty()) places_.assign(kPlaces, kFree);
  const auto find = [&] {
    std::size_t at = wave * 2654435761u % kPlaces; // neighbors are far apart
    while (places_[at] != kFree && entry(places_[at]).wave != wave) at = (at + 1) % kPlaces;
    return at;
  };
  std::size_t at = find();
  if (places_[at] != kFree) return &entry(places_[at]);
  if (count_ >= kMostWaves) {
    if (ended_ == 0) return nullptr;
    dropEnded();
    at = find();
  }
  auto &block = blocks_[count_ / kBlock];
  if (!block)
    block = std::make_unique<Entry[]>(kBlock); // may throw: nobody may have its place then
  Entry &added = entry(count_);
  added = Entry{};
  added.wave = wave;
  places_[at] = static_cast<uint16_t>(count_++);
  return &added;
}

/// Waves that have ended are kept only for batches that come out of order, which are few.
void LastRecords::dropEnded() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (entry(i).has_ended) continue;
    if (kept != i) entry(kept) = std::move(entry(i));
    ++kept;
  }
  count_ = kept;
  ended_ = 0;
  std::ranges::fill(places_, kFree);
  for (std::size_t i = 0; i < count_; ++i) {
    std::size_t at = entry(i).wave * 2654435761u % kPlaces;
    while (places_[at] != kFree) at = (at + 1) % kPlaces;
    places_[at] = static_cast<uint16_t>(i);
  }
}

std::vector<LastRecords::Wave> LastRecords::unended() const {
  const std::lock_guard lock(mutex_);
  std::vector<Wave> found;
  for (std::size_t n = 0; n < count_; ++n) {
    const Entry &one = entry(n);
    if (one.has_ended) continue;
    Wave &wave = found.emplace_back();
    wave.number = one.wave;
    wave.begin = one.begin.bytes();
    for (uint32_t i = 0; i < one.count; ++i)
      wave.records.push_back({one.positions[i], one.records[i].bytes()});
    std::ranges::sort(wave.records, {}, &Kept::position);
  }
  std::ranges::sort(found, {}, &Wave::number);
  return found;
}

} // namespace fade
