#include "stream/wave_table.h"

namespace fade {

WaveTable::~WaveTable() {
  for (auto &chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

void WaveTable::add(const fade_wave_begin &wave, uint64_t batch) {
  const uint32_t first = wave.wave / kChunk * kChunk;
  auto &slot = chunks_[wave.wave / kChunk % kChunks];
  Chunk *chunk = slot.load(std::memory_order_relaxed);
  if (!chunk || chunk->first != first) {
    // A wave from before the window must not push out younger ones.
    if (chunk && static_cast<int32_t>(first - chunk->first) < 0) return;
    if (chunk && retired_.size() >= kMostRetired) return;
    std::unique_ptr<Chunk> fresh(new Chunk); // its waves need not be cleared
    fresh->first = first;
    if (chunk) {
      retired_.push_back({batch, nullptr}); // what may fail comes first: others look at the chunk
      retired_.back().chunk.reset(chunk);
    }
    chunk = fresh.release();
    slot.store(chunk, std::memory_order_release);
  }
  chunk->waves[wave.wave % kChunk] = wave;
  chunk->known[wave.wave % kChunk].store(true, std::memory_order_release);
}

void WaveTable::retireBefore(uint64_t batch) {
  while (!retired_.empty() && retired_.front().batch < batch) retired_.pop_front();
}

bool WaveTable::find(uint32_t wave, fade_wave_begin &out) const {
  const Chunk *chunk = chunks_[wave / kChunk % kChunks].load(std::memory_order_acquire);
  if (!chunk || chunk->first != wave / kChunk * kChunk) return false;
  if (!chunk->known[wave % kChunk].load(std::memory_order_acquire)) return false;
  out = chunk->waves[wave % kChunk];
  return true;
}

} // namespace fade
