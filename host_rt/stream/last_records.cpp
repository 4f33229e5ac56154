#include "stream/last_records.h"

#include <algorithm>

namespace fade {
namespace {

/// The record at the start of bytes that were checked.
bool recordAt(std::span<const std::byte> bytes, Record &record) {
  RecordCursor cursor(bytes);
  return cursor.next(record) == RecordCursor::Status::record;
}

} // namespace

void LastRecords::add(const Scan &scan, std::span<const std::byte> batch,
                      uint64_t position) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    for (const Scan::Slot &slot : scan.slots_)
      if (slot.wave != Scan::kNone) addWave(slot, batch, position);
  } catch (...) { // an explanation with less in it
  }
}

void LastRecords::addWave(const Scan::Slot &slot, std::span<const std::byte> batch,
                          uint64_t position) {
  Record record;
  const bool ends = slot.last != Scan::kNone && recordAt(batch.subspan(slot.last), record) &&
                    record.kind() == FADE_RECORD_WAVE_END;
  // A wave that lives and dies within a batch is nobody's concern. Of one that ends here, batches
  // may still come that are older: it has to be remembered that it has ended.
  if (ends && slot.begin != Scan::kNone) return;
  if (!waves_.contains(slot.wave)) {
    makeRoom();
    if (waves_.size() >= kMostWaves) return;
  }
  Wave &wave = waves_[slot.wave];
  wave.number = slot.wave;
  if (ends) {
    wave.has_ended = true;
    wave.records.clear();
    wave.begin.clear();
  }
  if (wave.has_ended) return;
  const auto copy = [&](uint32_t offset) {
    const auto bytes = batch.subspan(offset);
    return recordAt(bytes, record)
               ? std::vector<std::byte>(bytes.begin(), bytes.begin() + record.size())
               : std::vector<std::byte>();
  };
  if (slot.begin != Scan::kNone) wave.begin = copy(slot.begin);
  for (const uint32_t offset : {slot.previous, slot.last})
    if (offset != Scan::kNone) wave.records.push_back({position + offset, copy(offset)});
  std::ranges::sort(wave.records, {}, &Kept::position);
  if (wave.records.size() > kPerWave)
    wave.records.erase(wave.records.begin(),
                       wave.records.end() - static_cast<std::ptrdiff_t>(kPerWave));
}

/// Waves that have ended are kept only for batches that come out of order, which are few.
void LastRecords::makeRoom() {
  if (waves_.size() < kMostWaves) return;
  std::erase_if(waves_, [](const auto &entry) { return entry.second.has_ended; });
}

std::vector<LastRecords::Wave> LastRecords::unended() const {
  const std::lock_guard lock(mutex_);
  std::vector<Wave> found;
  for (const auto &[number, wave] : waves_)
    if (!wave.has_ended) found.push_back(wave);
  std::ranges::sort(found, {}, &Wave::number);
  return found;
}

} // namespace fade
