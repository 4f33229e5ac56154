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
  Entry *entry = entryOf(slot.wave);
  if (!entry || entry->has_ended) return;
  if (ends) {
    entry->has_ended = true;
    ++ended_;
    return;
  }
  if (slot.begin != Scan::kNone) entry->begin.save(batch.subspan(slot.begin));
  for (const uint32_t offset : {slot.previous, slot.last}) {
    if (offset == Scan::kNone) continue;
    auto &positions = entry->positions;
    const bool is_full = entry->count == kPerWave;
    const std::size_t to =
        is_full ? static_cast<std::size_t>(std::ranges::min_element(positions) - positions.begin())
                : entry->count++;
    if (is_full && positions[to] > position + offset) continue;
    positions[to] = position + offset;
    entry->records[to].save(batch.subspan(offset));
  }
}

/// Null if there are too many that have not ended.
LastRecords::Entry *LastRecords::entryOf(uint32_t wave) {
  if (places_.empty()) places_.assign(kPlaces, kFree);
  const auto find = [&] {
    std::size_t at = wave * 2654435761u % kPlaces; // neighbors are far apart
    while (places_[at] != kFree && entries_[places_[at]].wave != wave) at = (at + 1) % kPlaces;
    return at;
  };
  std::size_t at = find();
  if (places_[at] != kFree) return &entries_[places_[at]];
  if (entries_.size() >= kMostWaves) {
    if (ended_ == 0) return nullptr;
    dropEnded();
    at = find();
  }
  Entry &entry = entries_.emplace_back(); // may throw: nobody may have its place then
  entry.wave = wave;
  places_[at] = static_cast<uint16_t>(entries_.size() - 1);
  return &entry;
}

/// Waves that have ended are kept only for batches that come out of order, which are few.
void LastRecords::dropEnded() {
  std::erase_if(entries_, [](const Entry &entry) { return entry.has_ended; });
  ended_ = 0;
  std::ranges::fill(places_, kFree);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t at = entries_[i].wave * 2654435761u % kPlaces;
    while (places_[at] != kFree) at = (at + 1) % kPlaces;
    places_[at] = static_cast<uint16_t>(i);
  }
}

std::vector<LastRecords::Wave> LastRecords::unended() const {
  const std::lock_guard lock(mutex_);
  std::vector<Wave> found;
  for (const Entry &entry : entries_) {
    if (entry.has_ended) continue;
    Wave &wave = found.emplace_back();
    wave.number = entry.wave;
    wave.begin = entry.begin.bytes();
    for (uint32_t i = 0; i < entry.count; ++i)
      wave.records.push_back({entry.positions[i], entry.records[i].bytes()});
    std::ranges::sort(wave.records, {}, &Kept::position);
  }
  std::ranges::sort(found, {}, &Wave::number);
  return found;
}

} // namespace fade
